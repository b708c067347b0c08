"""Working time, measured by a clock that leaves out pauses: `WorkingClock`.

The duration of a run is recorded in `volatile.wall_s` (and the seconds that its cached values took
earlier in `volatile.cached_s`), the duration of an attempt in `status.json`. Three kinds of pauses
do not count:

- the time in which the process is stopped, or the machine is suspended, for more than `PATIENCE`
  seconds: the clock was not read, and the process used no processor time;
- the time between two cells, in which a kernel waits for its reader;
- the time between an interrupted attempt and the attempt that continues from its cache.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress

#: A longer gap in seconds between two readings is a pause, unless processor time was used in it.
PATIENCE = 10.0
_TICK = 1.0


class WorkingClock:
    """A clock whose call returns the seconds since its creation, without pauses.

    A gap between two readings that is longer than `patience` counts as `patience`, or as the
    processor time used in it if this is longer, because a computation may block the thread that
    reads the clock. `now` and `processor` return wall-clock time and processor time.

    >>> moments, used = iter([0.0, 4.0, 3604.0, 3700.0]), iter([0.0, 4.0, 4.5, 100.5])
    >>> clock = WorkingClock(now=lambda: next(moments), processor=lambda: next(used))
    >>> clock(), clock(), clock()
    (4.0, 14.0, 110.0)
    """

    def __init__(
        self,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        self._patience = patience
        self._now = now
        self._processor = processor
        self._lock = threading.Lock()
        self._total = 0.0
        self._counts = True
        self._last_now = now()
        self._last_processor = processor()

    def __call__(self) -> float:
        with self._lock:
            now = self._now()
            processor = self._processor()
            gap = now - self._last_now
            if gap > self._patience:
                used = processor - self._last_processor
                gap = max(self._patience, min(gap, used))
            if self._counts:
                self._total += gap
            self._last_now = now
            self._last_processor = processor
            return self._total

    def pause(self) -> None:
        """Count nothing until `resume`."""
        self()
        self._counts = False

    def resume(self) -> None:
        """Count again from now on."""
        self()
        self._counts = True

    def keep_looking(self, every: float = _TICK) -> "WorkingClock":
        """Read the clock regularly in a thread, as long as the clock is referenced elsewhere.

        All clocks of a process share a thread: many that wake would slow down the others' work.
        In a browser, where Python has no threads, the clock is read only when it is called.
        """
        reader = _readers.setdefault((os.getpid(), every), _Reader(every))
        reader.add(self)
        return self

    def follow_cells(self, shell: object) -> None:
        """Count only while an IPython shell runs a cell; it is running one now."""
        reference = weakref.ref(self)
        events = shell.events  # type: ignore[attr-defined]

        def before(*_: object) -> None:
            if (clock := reference()) is not None:
                clock.resume()

        def after(*_: object) -> None:
            if (clock := reference()) is not None:
                clock.pause()
            else:
                events.unregister("pre_run_cell", before)
                events.unregister("post_run_cell", after)

        events.register("pre_run_cell", before)
        events.register("post_run_cell", after)


class _Reader:
    """A thread that reads clocks every so many seconds, as long as others refer to them."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._clocks: weakref.WeakSet[WorkingClock] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, clock: WorkingClock) -> None:
        with self._lock:
            self._clocks.add(clock)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._read_regularly, name="working clocks", daemon=True
                )
                with suppress(RuntimeError):
                    self._thread.start()

    def _read_regularly(self) -> None:
        while True:
            self._read()
            time.sleep(self._every)

    def _read(self) -> None:
        with self._lock:
            clocks = list(self._clocks)
        for clock in clocks:
            clock()


#: By process, since a copy of a process has no threads, and by seconds between readings.
_readers: dict[tuple[int, float], _Reader] = {}
