"""The recorded time is working time: stopped processes and waiting kernels do not count."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from invariance.companion.clock import WorkingClock

SCRIPT = """
import sys, time
from invariance.companion.clock import WorkingClock
clock = WorkingClock(patience=0.5).keep_looking(every=0.05)
print("ready", flush=True)
sys.stdin.readline()
print(clock())
"""


def test_a_process_that_was_stopped_does_not_count_it():
    line = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as child:
        assert child.stdout.readline().strip() == "ready"
        started = time.monotonic()
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(child.pid, signal.SIGCONT)
        printed, _ = child.communicate("\n")
        passed = time.monotonic() - started
    assert passed > 3 and float(printed) < passed - 2


def test_many_clocks_are_read_by_one_thread_and_forgotten_when_nobody_needs_them():
    readings = []

    def now():
        readings.append(1)
        return 0.0

    before = threading.active_count()
    clocks = [WorkingClock(now=now).keep_looking(every=0.02) for _ in range(20)]
    assert threading.active_count() <= before + 1
    started = len(readings)
    time.sleep(0.5)
    assert len(readings) - started >= 3 * len(clocks)
    references = [weakref.ref(clock) for clock in clocks]
    clocks.clear()
    ends = time.monotonic() + 30
    while any(reference() is not None for reference in references):
        assert time.monotonic() < ends
        time.sleep(0.05)
    left = len(readings)
    time.sleep(0.3)
    assert len(readings) == left


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        # Time and processor seconds.
        ([(1, 0), (2, 0), (3, 0)], 3),  # Waits for other processes.
        ([(5000, 0)], 10),  # Was stopped.
        ([(5000, 5000)], 5000),  # A computation blocked the reading thread.
        ([(5000, 9000)], 5000),  # The same on two cores.
        ([(5000, 600)], 600),  # For a part of the time.
        ([(3, 3), (5000, 3), (5001, 4)], 14),  # Was stopped in the middle.
    ],
)
def test_gaps_count_as_far_as_somebody_worked(looks, expected):
    moments = iter([(0, 0), *looks])
    moment = (0.0, 0.0)

    def now():
        nonlocal moment
        moment = next(moments)
        return float(moment[0])

    clock = WorkingClock(patience=10, now=now, processor=lambda: float(moment[1]))
    for _ in looks:
        worked = clock()
    assert worked == expected


def test_the_time_between_cells_is_no_work(project):
    """The reader pauses between two cells of a kernel."""
    script = """
import time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("from invariance.companion import Run; run = Run('demo/a'); import time")
time.sleep(2)
shell.run_cell("time.sleep(0.3); run.say('done')")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    results = project.interactive("demo/a", "quick") / "results.json"
    assert 0.3 < json.loads(results.read_text("utf-8"))["volatile"]["wall_s"] < 1.9
