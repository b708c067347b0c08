"""`Run` in a plain script, and in a batch run, which an environment variable marks."""

import csv
import hashlib
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from invariance.companion import Run, instructions, processor_seconds
from invariance.companion.errors import LedgerError, NotebookError, RecordError
from invariance.companion.files import file_digest
from invariance.companion.ledger.claims import load_ledger, statement_digest
from invariance.companion.ledger.settings import protocol_digest
from invariance.companion.provenance import closure
from invariance.companion.run.cache import CacheError
from invariance.companion.run.code import computes, imports_count
from invariance.core.parameters import ParameterError
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Linear
from invariance.orbits.cost import operations_done, rate


def results(run):
    return json.loads((run.folder / "results.json").read_text("utf-8"))


@pytest.fixture
def batch(project, monkeypatch):
    folder = project.build / "batch"
    monkeypatch.setenv("INVARIANCE_RUN_DIR", str(folder))
    return Run("p/a", seed=3)


def test_everything_emitted_is_on_disk_at_once(project, capsys):
    run = Run("p/a", profile="full", seed=3, width=np.float64(2.0))
    assert run.folder == project.interactive("p/a", "full")
    assert not run.quick
    assert run.rng.normal() == np.random.default_rng(3).normal()

    figure, axes = plt.subplots()
    axes.plot([1, 2])
    run.figure(figure, "line", alt="A line\nthat rises", caption="It rises: $y = x$")
    assert not plt.fignum_exists(figure.number)
    sentence = {"alt": "A line that rises", "caption": "It rises: $y = x$"}
    drawn = {"drawn": None}  # No notebook of the project draws it.
    assert results(run)["figures"] == [{"name": "line", "files": ["line.png"]} | sentence | drawn]
    assert (run.folder / "line.png").read_bytes().startswith(b"\x89PNG")

    figure, axes = plt.subplots()
    axes.plot([1, 2], [5, 2.5], label="ours")
    axes.set(title="Half", xlabel="n", ylabel="$e_n$")
    run.figure(figure, "described")
    assert results(run)["figures"][1]["alt"] == "Half: e_n against n; ours from 5 to 2.5."

    run.table([{"n": 1, "error": 0.1}, {"n": 2, "error": 1 / 3}], "errors", caption="Errors")
    rows = list(csv.DictReader((run.folder / "errors.csv").open(encoding="utf-8")))
    assert [float(row["error"]) for row in rows] == [0.1, 1 / 3]
    run.table(pd.DataFrame({"x": [1]}, index=["raw"]), "named")
    assert (run.folder / "named.csv").read_text("utf-8").startswith(",x\nraw,1")

    verdict = run.claim("demo/number", value=98.8, se=0.1, note="measured", data="digits")
    assert results(run)["claims"]["demo/number"] == {
        **{"kind": "value", "verdict": "matched", "reason": verdict.reason, "ours": "98.80 ± 0.10"},
        "recorded": {"value": [98.8], "se": [0.1], "repetitions": None},
        **{"note": "measured", "data": "digits"},
        "protocol": protocol_digest(load_ledger(project.ledger)["demo/number"]),
        "statement": statement_digest(load_ledger(project.ledger)["demo/number"]),
        "earlier": [],
    }
    assert "demo/number: matched" in capsys.readouterr().out

    run.timing("product", 0.25)
    run.uses_data("x.gz", "0" * 64)
    run.uses_data(SimpleNamespace(sources={"y.gz": "1" * 64}))
    run.uses_data(SimpleNamespace(target=[1, 2]))  # Bundled data have no file.
    content = results(run)
    assert content["volatile"]["timings"] == {"product": 0.25}
    assert content["provenance"]["data"] == {"x.gz": "0" * 64, "y.gz": "1" * 64}
    assert content["parameters"] == {"profile": "full", "seed": 3, "width": 2.0}
    assert content["volatile"]["peak_memory_mb"] > 10
    assert content["provenance"]["packages"]["numpy"] == np.__version__


def test_operations_over_orbits_are_noted_as_seconds_of_a_bare_product(project, monkeypatch):
    run = Run("p/a")
    before = results(run)["volatile"]["floor_s"]
    kernel = BestFit(Linear(), CyclicShifts(8))
    X = np.eye(8)[:5]
    counted = operations_done["float64"]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(
            "invariance.orbits.ways.shifts.Shifts.compute", Mock(side_effect=KeyboardInterrupt)
        )
        kernel(X, X[:2])  # Interrupted calls are not counted.
    kernel(X, -X)
    assert operations_done["float64"] - counted == kernel.explain(X, -X).operations > 0
    operations_done["float64"] += 50 * rate("float64")
    run.timing("product", 1.0)
    assert results(run)["volatile"]["floor_s"] == pytest.approx(before + 50, abs=0.3)


def test_equal_runs_differ_in_nothing_but_the_volatile(project):
    def content() -> dict:
        run = Run("p/a")
        run.claim("demo/order", order="a > b", scores={"b": run.rng.normal(size=5), "a": 9})
        content_of_file = results(run)
        return content_of_file if content_of_file.pop("volatile") else {}

    first = content()
    assert first == content()
    assert math.isfinite(first["claims"]["demo/order"]["recorded"]["pairs"][0]["gap"])


def test_recorded_twice(batch, project, monkeypatch):
    batch.claim("demo/same", difference=0.0, tolerance=1e-10)
    with pytest.raises(RecordError, match="'demo/same' is recorded twice"):
        batch.claim("demo/same", difference=1.0, tolerance=1e-10)
    figure = plt.figure()
    batch.figure(figure, "a", alt="x")
    with pytest.raises(RecordError, match="figure 'a' is saved twice"):
        batch.figure(figure, "a", alt="x")
    assert results(batch)["claims"]["demo/same"]["verdict"] == "matched"

    # In an interactive run, a cell may run repeatedly: the last result counts.
    monkeypatch.delenv("INVARIANCE_RUN_DIR")
    run = Run("p/a")
    run.claim("demo/same", difference=0.0, tolerance=1e-10)
    with pytest.warns(UserWarning, match="the later one replaces the earlier"):
        run.claim("demo/same", difference=1.0, tolerance=1e-10)
    assert results(run)["claims"]["demo/same"]["verdict"] == "violated"


def test_bad_results_are_refused_and_leave_the_good_ones(batch):
    batch.claim("demo/same", difference=0.0, tolerance=1e-10)
    before = (batch.folder / "results.json").read_text("utf-8")
    dollars = Figure()
    dollars.subplots().set(title="$x^2$ at {group}".format(group="C4"), xlabel="$$")
    for message, emit, arguments, extra in (
        ("Did you mean 'demo/number'", batch.claim, ["demo/nmber"], {"value": 1}),
        ("demo/number: value is nan", batch.claim, ["demo/number"], {"value": np.nan}),
        ("alt is empty", batch.figure, [Figure(), "a"], {"alt": " "}),
        (
            r"formula in the text '\$\$'; a plain dollar is written",
            batch.figure,
            [dollars, "a"],
            {},
        ),
        ("no ending", batch.figure, [Figure(), "a.svg"], {"alt": "x"}),
        ("expected a matplotlib Figure", batch.figure, [plt, "a"], {"alt": "x"}),
        ("table 'a' is empty", batch.table, [[], "a"], {}),
        ("DataFrame or a list of dicts", batch.table, [3, "a"], {}),
        ("timing 'a' is nan", batch.timing, ["a", np.nan], {}),
        ("SHA-256", batch.uses_data, ["a", "123"], {}),
    ):
        with pytest.raises((LedgerError, RecordError), match=message):
            emit(*arguments, **extra)
    assert (batch.folder / "results.json").read_text("utf-8") == before


def test_bad_starts(project):
    with pytest.raises(NotebookError, match="<paper>/<name>"):
        Run("xperm")
    with pytest.raises(NotebookError, match="'p/my own': .*letters, digits, '_', '-' and '.'"):
        Run("p/my own")
    refused = [
        ("unknown profile 'fast'", {"profile": "fast"}),
        ("model is <o", {"model": object()}),
    ]
    refused += [("seed=", {"seed": seed}) for seed in (-1, 0.5, True, "1")]
    refused += [("width is nan", {"width": np.nan}), ("widths is", {"widths": [1, np.inf]})]
    refused += [("at least one seed", {"seeds": []}), ("lists 3 twice", {"seeds": [3, 4, 3]})]
    for message, arguments in refused:
        with pytest.raises(ParameterError, match=message):
            Run("p/a", **arguments)


def test_a_script_belongs_to_the_project_that_it_lies_in(project, tmp_path, monkeypatch):
    monkeypatch.delenv("INVARIANCE_ROOT")
    name = project.write("p/a", "run.claim('demo/same', difference=0.0, tolerance=1e-10)")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "notebooks").mkdir(parents=True)
    (elsewhere / "notebooks" / "claims.yml").write_text("claims: []\n", "utf-8")
    for start in (str(project.source(name)), os.path.relpath(project.source(name), elsewhere)):
        shutil.rmtree(project.build, ignore_errors=True)
        done = subprocess.run([sys.executable, start], cwd=elsewhere, capture_output=True)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        stored = json.loads(
            (project.interactive(name, "quick") / "results.json").read_text("utf-8")
        )
        assert stored["claims"]["demo/same"]["verdict"] == "matched"
        assert not (elsewhere / "build").exists()


FACTOR = 2


def _helper(x):
    return FACTOR * x


@pytest.fixture
def calls(project) -> Path:
    """A file to which a function appends a letter whenever it is computed."""
    path = project.root / "calls"
    path.touch()
    return path


def test_cache_follows_arguments_helpers_constants_and_data(project, calls, monkeypatch):
    def slow(x, seed=0):
        calls.open("a", encoding="utf-8").write("x")
        return _helper(x) + seed

    run = Run("p/a")
    cached = run.cache(slow)
    assert (cached(3), cached(3), cached(x=3), cached(3, seed=0)) == (6, 6, 6, 6)
    assert calls.read_text("utf-8") == "x"
    assert Run("p/a").cache(slow)(3) == 6 and calls.read_text("utf-8") == "x"
    assert cached(4) == 8 and calls.read_text("utf-8") == "xx"
    assert cached(3, seed=1) == 7 and calls.read_text("utf-8") == "xxx"
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert cached(3) == 15 and calls.read_text("utf-8") == "xxxx"
    monkeypatch.setitem(globals(), "FACTOR", 2)
    assert cached(3) == 6 and calls.read_text("utf-8") == "xxxx"
    run.uses_data("a.gz", "0" * 64)
    assert run.cache(slow)(3) == run.cache(slow)(3) == 6 and calls.read_text("utf-8") == "xxxxx"


def test_a_file_of_the_user_is_recorded_by_its_checksum(project, tmp_path_factory, monkeypatch):
    inside = project.root / "measured.csv"
    outside = tmp_path_factory.mktemp("elsewhere") / "b.csv"
    for path in (inside, outside):
        path.write_text("x\n1\n", "utf-8")
    monkeypatch.chdir(project.root)
    run = Run("p/a")
    run.uses_data("measured.csv")
    run.uses_data(outside)
    digest = file_digest(inside)
    expected = {"measured.csv": digest, outside.resolve().as_posix(): digest}
    assert results(run)["provenance"]["data"] == expected
    with pytest.raises(
        RecordError, match=r"data 'absent.csv': there is no file .*pass the SHA-256"
    ):
        run.uses_data("absent.csv")


def test_a_cached_function_may_call_another(project, calls, monkeypatch):
    """The key depends on the helpers of the inner function, but not on the run that caches it."""

    def both(run):
        @run.cache
        def inner(x):
            return _helper(x)

        @run.cache
        def outer(x):
            calls.open("a", encoding="utf-8").write("x")
            return inner(x) + 1

        return outer(3)

    run = Run("p/a")
    assert both(run) == 7 and calls.read_text("utf-8") == "x"
    run.timing("any", 1.0)
    assert both(run) == both(Run("p/a")) == 7 and calls.read_text("utf-8") == "x"
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert both(run) == 16 and calls.read_text("utf-8") == "xx"


def test_a_class_of_a_cell_is_followed_through_its_methods(project):
    """A class in a kernel has no file in which Python could look for its source."""

    def with_factor(factor):
        name = "__main__"  # The sources of its functions are below.
        Scaled = type("Scaled", (), {"factor": factor, "__call__": _scaled, "__module__": name})

        def slow(x):
            return Scaled()(x)

        slow.__module__ = name
        return Run("p/a").cache(slow)

    assert [with_factor(factor)(3) for factor in (2, 2, 5)] == [6, 6, 15]
    assert len(_kept(project)) == 2


def _scaled(self, x):
    return self.factor * x


def test_the_seconds_of_earlier_runs_are_recorded(project):
    """The seconds of stored results count once, and only if an earlier run computed them."""

    def slow(x):
        time.sleep(0.02)
        return x

    def cached_s(run):
        run.timing("any", 0.0)
        return results(run)["volatile"]["cached_s"]

    first = Run("p/a")
    for x in (1, 1, 2):
        first.cache(slow)(x)
    assert cached_s(first) == 0
    second = Run("p/a")
    second.cache(slow)(1)
    seconds = cached_s(second)
    assert seconds >= 0.02
    second.cache(slow)(1)
    second.cache(slow)(3)
    assert cached_s(second) == seconds
    second.cache(slow)(2)
    assert cached_s(second) >= round(seconds + 0.02, 3)


def test_the_operations_of_earlier_runs_are_recorded(project):
    """Otherwise no floor would be known for cached values."""

    def counting(x):
        from invariance.orbits import cost  # Its content would be a dependency of the result.

        cost.operations_done["float64"] += x * int(cost.rate("float64"))
        return x

    def floors(run):
        run.timing("any", 0.0)
        volatile = results(run)["volatile"]
        return volatile["floor_s"], volatile["cached_floor_s"]

    first = Run("p/a")
    before, _ = floors(first)
    for x in (50, 50, 70):
        first.cache(counting)(x)
    assert floors(first) == pytest.approx((before + 120, 0), abs=0.3)
    second = Run("p/a")
    for _ in range(2):
        second.cache(counting)(50)
    assert floors(second) == pytest.approx((before + 120, 50), abs=0.3)
    (stored,) = [path for path in _kept(project) if pickle.loads(path.read_bytes())[0] == 70]
    value, seconds, _ = pickle.loads(stored.read_bytes())
    content = pickle.dumps((value, seconds))  # as earlier versions wrote it
    stored.unlink()
    key = stored.stem.rpartition("-")[0]
    stored.with_name(f"{key}-{hashlib.sha256(content).hexdigest()}.pkl").write_bytes(content)
    assert second.cache(counting)(70) == 70
    assert floors(second) == pytest.approx((before + 120, 50), abs=0.3)


def _kept(project) -> list[Path]:
    return sorted((project.build / "cache" / "p/a").iterdir())


def test_the_cache_believes_nothing_that_it_cannot_verify(project, calls):
    def slow(x):
        calls.open("a", encoding="utf-8").write("x")
        return {"x": x, "array": np.arange(1000.0)}

    cached = Run("p/a").cache(slow)
    cached(1), cached(2)
    first, two = (path.read_bytes() for path in _kept(project))
    harm = project.root / "harm"
    evil = pickle.dumps(Harm(str(harm)))
    damaged = [
        b"",
        first[:100],
        first[:-1],
        bytes(len(first)),
        two,
        evil,
        first + evil,
        b"{" * 9999,
    ]
    for times, content in enumerate(damaged, start=1):
        _kept(project)[0].write_bytes(content)
        values = cached(1), cached(2)
        assert [value["x"] for value in values] == [1, 2]
        assert len(calls.read_text("utf-8")) == 2 + times
        assert len(_kept(project)) == 2
    assert not harm.exists()


class Harm:
    """A pickle that opens a file for writing."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_the_key_of_the_code_leaves_the_machinery_out():
    source = "from invariance.companion import Run, fit_rate\nimport invariance.groups"
    files = closure(source, through=imports_count)
    assert {"invariance", "invariance.groups"} <= set(files)
    assert "invariance.companion.run.run" in {name for name in files if not computes(name)}
    reached = closure(f"import {', '.join(files)}")
    assert "invariance.companion.run.recording" in set(reached) - set(files)


def test_what_cannot_be_kept_is_computed(project):
    def unkept(x):
        return lambda: x

    with pytest.warns(UserWarning, match="the result of unkept is not kept"):
        assert Run("p/a").cache(unkept)(1)() == 1


def test_cache_refuses_what_has_state(project):
    run = Run("p/a")

    def hidden(x):
        return x + run.seed

    def uses_state(state, x):
        return x

    for message, function, *arguments in (
        ("pass a seed", uses_state, np.random.default_rng(0), 1),
        (r"'run' \(Run\)", hidden, 1),
        ("Run", uses_state, run, 1),
    ):
        with pytest.raises(CacheError, match=message):
            run.cache(function)(*arguments)


def test_say_prints_what_was_measured(batch, capsys):
    batch.say("{best:.2f} % with {m:,} templates", best=97.254, m=7000)
    batch.say("{best:.2f} % with {m:,} templates", best=97.254, m=7000)  # The cell runs again.
    (entry,) = json.loads((batch.folder / "results.json").read_text("utf-8"))["says"]
    assert entry["said"] == "97.25 % with 7,000 templates"
    assert "97.25 % with 7,000 templates" in capsys.readouterr().out
    for text, numbers in (
        ("{best}", {}),
        ("{m:.2f}", {"m": "many"}),
        ("none", {"m": 1}),
        ("{most}", {"most": 2, "m": 1}),
    ):
        with pytest.raises(RecordError, match="say"):
            batch.say(text, **numbers)


# -- `instructions`: counts of a call, by valgrind; `processor_seconds`: its time ------------------

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
    assert once > 300 * 1000  # At least one instruction per addition.


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
    assert 0 < 10 * few < many  # The work is a hundred times larger.
    calls = []
    program = "def prepare(calls): return lambda: calls.append(len(calls))"
    assert processor_seconds(program, [calls])[0] >= 0
    assert calls == [0, 1, 2]


def test_a_counterfactual_is_recorded_beside_the_claim_and_changes_no_verdict(batch, capsys):
    verdict = batch.claim("demo/pair", value=[20.0, 20.0], se=0.1, repetitions=5)
    assert verdict.verdict == "short"
    reaches = batch.counterfactual("demo/pair", "mirrored", value=[14.5, 20.0], se=[0.2, 0.1])
    assert reaches == [True, False]
    assert batch.counterfactual("demo/pair", "smoothed", value=[None, 13.0]) == [None, True]
    shown = capsys.readouterr().out
    assert "mirrored: 14.50 ± 0.20 reaches 14.01, 20.00 ± 0.10 does not reach 13.7" in shown
    assert "smoothed: 13.0 reaches 13.7" in shown
    content = results(batch)
    first, second = content["counterfactuals"]["demo/pair"]
    assert first["change"] == "mirrored" and first["reaches"] == [True, False]
    assert first["recorded"] == {"value": [14.5, 20.0], "se": [0.2, 0.1]}
    assert second["recorded"] == {"value": [None, 13.0], "se": [None, 0.0]}
    assert content["claims"]["demo/pair"]["verdict"] == "short"


def test_a_counterfactual_needs_no_verdict_and_takes_samples(batch):
    assert batch.counterfactual("demo/number", "plain", samples=[98.4, 98.6]) == [True]
    assert batch.counterfactual("demo/number", "beyond", value=99.9) == [True]
    assert batch.counterfactual("demo/number", "worse", value=98.3) == [False]
    assert results(batch)["claims"] == {}


def test_a_counterfactual_of_an_order_is_judged_as_the_order(batch):
    scores = {"a": [2.0, 2.1, 2.0], "b": [1.0, 1.1, 1.2]}
    assert batch.counterfactual("demo/order", "centred", order="a > b", scores=scores) == [True]
    assert batch.counterfactual("demo/order", "turned", order="b > a", scores=scores) == [False]


@pytest.mark.parametrize(
    ("claim", "arguments", "message"),
    [
        ("demo/order", {"value": 3.0}, "no printed number that value=3.0 could reach"),
        ("demo/pair", {"value": 14.0}, r"2 number\(s\), 14.01, 13.7; value has 1"),
        ("demo/pair", {"value": [14.0, math.nan]}, "value is nan"),
        ("demo/pair", {"value": [None, None]}, "holds no number"),
        ("demo/pair", {"value": [14.0, 14.0], "se": [0.1]}, "se has 1"),
        ("demo/number", {"value": 98.0, "se": -0.1}, "se=-0.1 is negative"),
        ("demo/number", {"value": 98.0, "order": "a > b"}, "order does not go with value="),
        ("demo/number", {}, "got no numbers"),
    ],
)
def test_a_counterfactual_without_the_claims_numbers_is_refused(batch, claim, arguments, message):
    with pytest.raises(RecordError, match=message):
        batch.counterfactual(claim, "mirrored", **arguments)
    assert results(batch)["counterfactuals"] == {}


def test_a_change_is_described_and_recorded_once_in_a_batch(batch, project, monkeypatch):
    with pytest.raises(RecordError, match="describe the change"):
        batch.counterfactual("demo/number", "", value=98.0)
    with pytest.raises(LedgerError, match="demo/numbers"):
        batch.counterfactual("demo/numbers", "mirrored", value=98.0)
    batch.counterfactual("demo/number", "mirrored", value=98.0)
    with pytest.raises(RecordError, match="recorded twice"):
        batch.counterfactual("demo/number", "mirrored", value=99.0)
    monkeypatch.delenv("INVARIANCE_RUN_DIR")
    run = Run("p/a", seed=3)
    run.counterfactual("demo/number", "mirrored", value=98.0)
    with pytest.warns(UserWarning, match="recorded twice"):
        run.counterfactual("demo/number", "mirrored", value=99.0)
    (entry,) = results(run)["counterfactuals"]["demo/number"]
    assert entry["recorded"]["value"] == [99.0]


TABLE = """\
demo/table1:
  title: Accuracies
  source: table 1
  notebook: demo/a
  unit: "%"
  columns: [method, accuracy]
  rows: {ours: [number]}
"""


def test_a_table_of_the_paper_shows_what_is_published(project, capsys):
    project.tables.write_text(TABLE, "utf-8")
    run = Run("demo/b", profile="quick")
    run.paper_table("demo/table1")
    assert "ours    98.90" in capsys.readouterr().out
    Run("demo/a", profile="full").claim("demo/number", value=98.8, se=0.1, repetitions=5)
    published = project.published("demo/a")
    shutil.copytree(project.interactive("demo/a", "full"), published)
    capsys.readouterr()
    run.paper_table("demo/table1")
    assert "ours 98.90 / 98.80 \u00b1 0.10 \u2713" in capsys.readouterr().out
    assert run.folder.joinpath("results.json").read_text("utf-8").count("table1") == 0
    with pytest.raises(LedgerError, match="Did you mean 'demo/table1'"):
        run.paper_table("demo/tabel1")


def test_without_tables_the_remedy_names_their_file(project):
    with pytest.raises(LedgerError, match=r"tables\.yml"):
        Run("demo/b").paper_table("demo/table1")


def test_the_architecture_is_that_of_numpy_whatever_else_is_loaded():
    """CVXPY loads a solver with a BLAS of its own, which has another name for this machine."""
    shown = "from invariance.companion.provenance import architecture; print(architecture())"
    names = set()
    for first in ("import scipy.linalg", "import scipy.linalg, cvxpy"):
        line = [sys.executable, "-c", f"{first}\n{shown}"]
        done = subprocess.run(line, capture_output=True, encoding="utf-8", check=True)
        names.add(done.stdout.strip())
    assert len(names) == 1 and names != {"unknown"}
