"""Every rule of the table in `verdicts`, on both sides of its threshold."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.companion.errors import RecordError
from invariance.companion.ledger.claims import Claim
from invariance.companion.ledger.verdicts import VERDICTS, judge
from invariance.companion.notebook.recording import record
from invariance.evaluation.means import Score
from invariance.evaluation.rates import fit_rate

NUMBER = Claim("p/number", "value", "t", "full", paper=("98.90",), better="higher")
ERROR = Claim(
    "p/error", "value", "t", "full", paper=("14.01", "13.7"), scalar=False, better="lower"
)
ORDER = Claim("p/order", "order", "f", "generated")
BOUND = Claim("p/bound", "bound", "t", "generated")
RATE = Claim("p/rate", "rate", "t", "generated")
SAME = Claim("p/same", "identity", "t", "generated", tolerance=1e-10)


def verdict(claim, **numbers):
    recorded = record(claim, numbers)
    result = judge(claim, recorded)
    # what is stored gives the same verdict as what was measured
    stored = json.loads(json.dumps(recorded, sort_keys=True, allow_nan=False))
    assert judge(claim, stored) == result
    assert result.verdict in VERDICTS and result.reason and result.ours
    return result


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"value": 98.905}, "matched"),  # half a unit of the last printed digit
        ({"value": 98.894}, "short"),
        ({"value": 98.91}, "better"),
        ({"value": 98.7, "se": 0.1}, "matched"),  # two standard errors, exactly
        ({"value": 98.69, "se": 0.1}, "short"),
        ({"value": 99.11, "se": 0.1}, "better"),
        ({"samples": [98.5, 98.9, 99.3]}, "matched"),
    ],
)
def test_value(numbers, expected):
    result = verdict(NUMBER, **numbers)
    assert result.verdict == expected
    assert "98.90" in result.reason


def test_value_with_a_stated_tolerance():
    near = Claim("p/n", "value", "t", "full", paper=("90",), better="higher", tolerance=1.0)
    assert verdict(near, value=89.0).verdict == "matched"
    assert verdict(near, value=88.9).verdict == "short"
    svm = Claim("p/n", "value", "t", "full", paper=("89.23",), better="higher", tolerance=0.02)
    assert verdict(svm, value=89.25).verdict == "matched"
    assert verdict(svm, value=89.21).verdict == "matched"
    assert verdict(svm, value=89.20).verdict == "short"


def test_value_lists_take_the_worst():
    assert verdict(ERROR, value=[14.0, 13.72], se=[0.1, 0.0]).verdict == "matched"
    assert verdict(ERROR, value=[13.0, 12.0]).verdict == "better"
    assert verdict(ERROR, value=[14.01, 12.0]).verdict == "matched"
    assert verdict(ERROR, value=[13.0, 14.0]).verdict == "short"
    result = verdict(ERROR, samples=np.array([[14.0, 13.6], [14.2, 13.8]]))
    assert result.ours == "14.10 ± 0.10, 13.70 ± 0.10"


@pytest.mark.parametrize(
    ("scores", "order", "expected"),
    [
        # errors 0.75 and 1: the gap's is 1.25
        ({"a": Score(3.5, 0.75), "b": Score(1, 1)}, "a > b", "matched"),
        ({"a": Score(3.4, 0.75), "b": Score(1, 1)}, "a > b", "short"),
        ({"a": Score(1, 1), "b": Score(3.5, 0.75)}, "a > b", "violated"),
        ({"a": Score(1, 1), "b": Score(3.4, 0.75)}, "a > b", "short"),
        ({"a": Score(1, 1), "b": Score(3.5, 0.75)}, "a >= b", "matched"),
        ({"a": Score(1, 1), "b": Score(3.6, 0.75)}, "a >= b", "violated"),
        ({"a": 2, "b": 1}, "a > b", "matched"),  # deterministic
        ({"a": 1, "b": 1}, "a > b", "short"),
        ({"a": 1, "b": 1}, "a >= b", "matched"),
        ({"a": 0.1 + 0.2, "b": 0.3}, "b >= a", "matched"),  # equal up to rounding
        ({"a": 1, "b": 2}, "a >= b", "violated"),
        ({"a": 3, "b": 2, "c": 1}, "a > b > c", "matched"),
        ({"a": 3, "b": 2, "c": 1}, ["a > b", "c < b", "c <= a"], "matched"),
        ({"a": 3, "b": 2, "c": 1}, ["a", "b", "c"], "matched"),
        ({"a": 3, "b": 1, "c": 1}, "a > b > c", "short"),
        ({"a": 3, "b": 1, "c": 2}, "a > b > c", "violated"),
    ],
)
def test_order(scores, order, expected):
    assert verdict(ORDER, order=order, scores=scores).verdict == expected


def test_pairing_removes_what_repetitions_share():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=30)
    scores = {"a": shared + 0.1 + 0.01 * rng.normal(size=30), "b": shared}
    assert verdict(ORDER, order="a > b", scores=scores, paired=True).verdict == "matched"
    assert verdict(ORDER, order="a > b", scores=scores).verdict == "short"
    # without a partner there is nothing to pair
    unequal = {"a": scores["a"], "b": shared[:-1]}
    assert "paired" not in verdict(ORDER, order="a > b", scores=unequal, paired=True).reason


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_a_strict_order_never_holds_both_ways(a, b):
    one = verdict(ORDER, order="a > b", scores={"a": a, "b": b}).verdict
    other = verdict(ORDER, order="b > a", scores={"a": a, "b": b}).verdict
    assert {one, other} in ({"matched", "violated"}, {"short"})


def test_bound():
    x = np.linspace(0, 1, 100)
    assert verdict(BOUND, lhs=x, rhs=x).verdict == "matched"
    assert verdict(BOUND, lhs=x, rhs=0.995).verdict == "violated"
    result = verdict(BOUND, lhs=x, rhs=0.995, allowed=0.01)
    assert result.verdict == "matched"
    assert result.ours == "1 of 100 trials violate; smallest margin -0.005"


def test_rate():
    x = np.array([1.0, 2, 4, 8])

    def fit(slope):
        return fit_rate(x, x**slope * np.array([1.01, 0.99, 0.99, 1.01]))

    assert verdict(RATE, rates=fit(-0.5), expected=-0.5).verdict == "matched"
    assert verdict(RATE, rates=fit(-0.9), expected=-0.5).verdict == "better"
    assert verdict(RATE, rates=fit(-0.9), expected=-0.5, two_sided=True).verdict == "short"
    assert verdict(RATE, rates=fit(-0.3), expected=-0.5).verdict == "short"
    assert verdict(RATE, rates=fit(-0.3), expected=-0.5, tolerance=0.2).verdict == "matched"
    # growth slower than stated is not a decay
    assert verdict(RATE, rates=fit(0.5), expected=1.0).verdict == "short"
    both = {"m": fit(-0.5), "n": fit(-1.4)}
    assert verdict(RATE, rates=both, expected={"m": -0.5, "n": -1.0}).verdict == "matched"
    law = Claim("p/l", "rate", "t", "generated", two_sided=True)
    assert verdict(law, rates=fit(-0.9), expected=-0.5).verdict == "short"


def test_identity():
    assert verdict(SAME, difference=[1e-11, -1e-10]).verdict == "matched"
    assert verdict(SAME, difference=-2e-10).verdict == "violated"
    assert verdict(SAME, difference=2e-10, tolerance=1e-9).verdict == "matched"


FIT = fit_rate([1, 2, 4], [1, 2, 4])


@pytest.mark.parametrize(
    ("claim", "numbers", "message"),
    [
        (NUMBER, {"lhs": 1, "rhs": 2}, r"p/number is of kind value: got lhs, rhs, needs value="),
        (NUMBER, {}, "got nothing"),
        (NUMBER, {"value": 1, "samples": [1, 2]}, "not both"),
        (NUMBER, {"value": np.nan}, r"p/number: value is nan"),
        (NUMBER, {"value": "much"}, "not numeric"),
        (NUMBER, {"value": 1, "se": -1}, "negative"),
        (NUMBER, {"samples": [3.0]}, "at least two repetitions"),
        (NUMBER, {"value": [1, 2]}, r"1 number\(s\), 98.90; got shape \(2,\)"),
        (ERROR, {"samples": [[1, 2], [3, np.inf]]}, r"samples\[1, 1\] is inf"),
        (
            ORDER,
            {"order": "a > b", "scores": {"a": [1, np.nan], "b": 2}},
            r"scores\['a'\]\[1\] is nan",
        ),
        (ORDER, {"order": "a > c", "scores": {"a": 1, "b": 2}}, "names 'c', which has no score"),
        (ORDER, {"order": "a >", "scores": {"a": 1}}, "not a chain"),
        (ORDER, {"order": "a > b", "scores": {"a": [1.0], "b": 2}}, "at least two"),
        (ORDER, {"order": "a > b", "scores": [1, 2]}, "needs order="),
        (BOUND, {"lhs": [1, 2]}, "needs lhs=array, rhs=array"),
        (BOUND, {"lhs": [1, 2], "rhs": [1, 2, 3]}, "broadcast"),
        (BOUND, {"lhs": [], "rhs": []}, "lhs is empty"),
        (BOUND, {"lhs": 1, "rhs": 2, "allowed": 1.5}, "fraction"),
        (RATE, {"rates": {"m": FIT}, "expected": {"n": 1}}, r"\['m', 'n'\]"),
        (RATE, {"rates": {"m": 0.5}, "expected": {"m": 1}}, "not a fit_rate"),
        (RATE, {"rates": FIT, "expected": np.nan}, "expected is nan"),
        (BOUND, {"difference": 1}, "of kind bound: got difference"),
        (Claim("p/i", "identity", "t", "full"), {"difference": 1}, "positive tolerance"),
    ],
)
def test_unsuitable_numbers_are_refused(claim, numbers, message):
    with pytest.raises(RecordError, match=message):
        record(claim, numbers)
