"""`instructions`: counts of a call, by valgrind; `processor_seconds`: its time."""

import shutil

import pytest

from invariance.companion import instructions, processor_seconds

LOOP = """
def prepare(n):
    return lambda: sum(range(1000 * n))
"""

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)


@needs_valgrind
def test_a_loop_twice_as_long_counts_twice_as_much_and_the_same_again():
    once, twice, again = instructions(LOOP, [300, 600, 300])
    assert twice / once == pytest.approx(2, rel=0.01)
    assert again == pytest.approx(once, rel=1e-4)
    assert once > 300 * 1000  # an instruction an addition, at the least


@needs_valgrind
def test_a_program_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no_such_module"):
        instructions("import no_such_module", [1])


def test_without_valgrind_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert instructions(LOOP, [1]) is None
    assert "valgrind" in capsys.readouterr().out


def test_seconds_grow_with_the_work_which_is_prepared_once_and_called_three_times():
    few, many = processor_seconds(LOOP, [10, 1000])
    assert 0 < 10 * few < many  # a hundred times the work
    calls = []
    program = "def prepare(calls): return lambda: calls.append(len(calls))"
    assert processor_seconds(program, [calls])[0] >= 0
    assert calls == [0, 1, 2]
