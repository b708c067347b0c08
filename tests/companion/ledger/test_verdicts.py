"""Every outcome of every kind of claim, on both sides of its threshold."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.companion.errors import RecordError
from invariance.companion.ledger.claims import Claim
from invariance.companion.ledger.verdicts import (
    VERDICTS,
    beside,
    combined,
    in_brief,
    judge,
    judge_parts,
)
from invariance.companion.run.recording import record
from invariance.evaluation.means import Score
from invariance.evaluation.rates import RateFit, fit_rate

NUMBER = Claim("p/n", "value", "t", "full", paper=("98.90",), better="higher", margin="0.5")
ERROR = Claim("p/e", "value", "t", "full", paper=("14.0", "20"), better="lower", margin="10 %")
ALIKE = Claim("p/a", "same", "t", "full", margin="1")
ORDER = Claim("p/order", "order", "f", "generated")
BOUND = Claim("p/bound", "bound", "t", "generated")
RATE = Claim("p/rate", "rate", "t", "generated")
SAME = Claim("p/same", "identity", "t", "generated")


def verdict(claim, **numbers):
    recorded = record(claim, numbers)
    result = judge(claim, recorded)
    # The stored numbers have the same verdict as the measured ones.
    stored = json.loads(json.dumps(recorded, sort_keys=True, allow_nan=False))
    assert judge(claim, stored) == result and beside(claim, stored) == beside(claim, recorded)
    assert result.verdict in VERDICTS and result.reason and result.ours
    return result


@pytest.mark.parametrize(
    ("value", "se", "expected"),
    [
        (98.90, 0.25, "matched"),  # The whole interval is inside, ends included.
        (99.20, 0.10, "matched"),
        (98.90, 0.26, "near"),  # The mean is inside, the ends are not.
        (98.50, 0.06, "near"),
        (99.40, 0.01, "near"),  # The mean lies on the end of the margin.
        (99.41, 0.01, "inconclusive"),  # The mean is outside, one end is inside.
        (99.59, 0.10, "inconclusive"),
        (99.50, 0.31, "inconclusive"),
        (98.30, 0.31, "inconclusive"),
        (99.61, 0.10, "better"),  # The whole interval is outside the margin.
        (98.00, 0.10, "short"),
        (98.90, 0.0, "inconclusive"),  # Neither an error nor an explanation.
    ],
)
def test_value(value, se, expected):
    result = verdict(NUMBER, value=value, se=se)
    assert result.verdict == expected
    assert "98.90" in result.reason


def test_a_comparator_outside_the_margin_differs():
    comparator = replace(NUMBER, better="neither")
    for value, expected in ((98.9, "matched"), (99.5, "differs"), (98.3, "differs")):
        assert verdict(comparator, value=value, se=0.01).verdict == expected
        wide = "near" if expected == "matched" else "inconclusive"
        assert verdict(comparator, value=value, se=0.3).verdict == wide


@pytest.mark.parametrize(
    ("values", "expected", "parts"),
    [
        ([14.0, 20.0], "matched", ["matched", "matched"]),
        ([10.0, 20.0], "matched", ["better", "matched"]),  # Better only where all are.
        ([10.0, 15.0], "better", ["better", "better"]),
        ([15.3, 20.0], "near", ["near", "matched"]),
        ([15.3, 22.1], "inconclusive", ["near", "inconclusive"]),
        ([10.0, 25.0], "short", ["better", "short"]),
    ],
)
def test_each_printed_number_is_judged_by_itself_and_the_worst_decides(values, expected, parts):
    numbers = {"value": values, "se": 0.1, "repetitions": 5}
    assert verdict(ERROR, **numbers).verdict == expected
    judged = judge_parts(ERROR, record(ERROR, numbers))
    assert [part.verdict for part in judged] == parts


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        ([7.8, 7.9, 7.85], "matched"),  # The whole interval is below eight.
        ([7.9, 8.1, 7.95], "inconclusive"),  # One end is in the band from 8 to 12.
        ([10.0, 10.1, 9.9], "inconclusive"),
        ([11.9, 11.8, 11.7], "inconclusive"),
        ([12.3, 12.2, 12.25], "violated"),
    ],
)
def test_a_threshold_of_ours_has_a_band_of_a_fifth(ratio, expected):
    claim = replace(ORDER, protocol="the ratio is below ten times, a threshold of ours")
    numbers = {"order": "ten times > ratio", "scores": {"ratio": ratio}}
    assert verdict(claim, **numbers, thresholds={"ten times": 10.0}).verdict == expected
    # The same number printed by the paper has no band.
    numbers["scores"] = {"ratio": ratio, "ten times": 10.0}
    printed = "violated" if np.mean(ratio) > 10.1 else "matched"
    if np.mean(ratio) != pytest.approx(10):
        assert verdict(claim, **numbers).verdict == printed


@pytest.mark.parametrize("claim", [NUMBER, ORDER])
def test_a_claim_whose_precondition_fails_is_not_testable(claim):
    numbers = {"value": 90.0, "se": 0.1}
    if claim is ORDER:
        numbers = {"order": "a > b", "scores": {"a": [1, 2, 1], "b": [5, 6, 5]}}
    failing = verdict(claim, **numbers, precondition=False, because="the network is at chance")
    assert failing.verdict == "not testable" and "the network is at chance" in failing.reason
    holding = verdict(claim, **numbers, precondition=True, because="the network is at 80 %")
    assert holding == verdict(claim, **numbers)
    assert holding.verdict in ("short", "violated")


@pytest.mark.parametrize(
    ("share", "gaps", "expected"),
    [
        ("0.75", [1, 1, 1, 0], "matched"),  # The other gaps do not matter.
        ("0.75", [1, 1, 1, -1], "matched"),
        ("0.75", [1, 1, 0, -1], "inconclusive"),  # Three gaps could still hold.
        ("0.75", [1, 1, -1, -1], "violated"),
        ("0.5", [1, -1], "matched"),
        ("0.5", [0, 0], "inconclusive"),
        ("", [1, 1, 1, -1], "violated"),
    ],
)
def test_an_order_that_is_claimed_of_a_share(share, gaps, expected):
    scores = {"base": Score(0.0, 0.1)} | {f"a{i}": Score(gap, 0.1) for i, gap in enumerate(gaps)}
    order = [f"a{i} > base" for i in range(len(gaps))]
    assert verdict(replace(ORDER, share=share), order=order, scores=scores).verdict == expected


def test_a_counted_number_of_repetitions_can_be_written():
    counted = np.isfinite([98.8, np.nan, 99.0]).sum()
    recorded = record(NUMBER, {"value": 98.9, "se": 0.1, "repetitions": counted})
    assert json.loads(json.dumps(recorded))["repetitions"] == 2


def test_a_value_in_which_nothing_varies():
    svm = Claim("p/n", "value", "t", "full", paper=("89.23",), better="higher", margin="0.02")
    for value, expected in ((89.25, "matched"), (89.21, "matched"), (89.20, "short"),
                            (89.26, "better")):  # fmt: skip
        assert verdict(svm, value=value, exact="the paper's split").verdict == expected
    # All repetitions agree.
    assert verdict(svm, samples=[89.23, 89.23, 89.23]).verdict == "matched"
    assert "has no standard error" in verdict(svm, value=89.23).reason


def test_values_of_a_list_each_have_their_margin():
    assert ERROR.margins == pytest.approx((1.4, 2.0))
    assert verdict(ERROR, value=[15.3, 21.9], se=0.01).verdict == "matched"
    assert verdict(ERROR, value=[15.5, 21.9], se=0.01).verdict == "short"
    assert verdict(ERROR, value=[12.0, 17.0], se=0.01).verdict == "better"
    assert verdict(ERROR, value=[12.0, 20.0], se=0.01).verdict == "matched"
    assert verdict(ERROR, value=[14.0, 20.0], se=[0.01, 3]).verdict == "near"
    result = verdict(ERROR, samples=np.array([[14.0, 19.9], [14.2, 20.1]]), spread="two draws")
    assert result.ours == "14.10 ± 0.10, 20.00 ± 0.10"
    numbers = {"samples": [[14.0, 19.9], [14.2, 20.1]], "spread": "draws"}
    assert beside(ERROR, record(ERROR, numbers)) == "margin 10 %; 2 repetitions; spread over draws"


def test_same():
    assert verdict(ALIKE, samples=[0.4, -0.4, 0.1]).verdict == "matched"
    assert verdict(ALIKE, value=-1.3, se=0.1).verdict == "violated"
    assert verdict(ALIKE, value=1.1, se=0.1).verdict == "inconclusive"
    assert verdict(ALIKE, value=0.0).verdict == "inconclusive"
    assert verdict(ALIKE, value=0.5, exact="both are deterministic").verdict == "matched"


@pytest.mark.parametrize(
    ("scores", "order", "expected"),
    [
        # The errors 0.75 and 1 give the gap an error of 1.25.
        ({"a": Score(3.6, 0.75), "b": Score(1, 1)}, "a > b", "matched"),
        ({"a": Score(3.4, 0.75), "b": Score(1, 1)}, "a > b", "inconclusive"),
        ({"a": Score(1, 1), "b": Score(3.6, 0.75)}, "a > b", "violated"),
        ({"a": Score(1, 1), "b": Score(3.4, 0.75)}, "a > b", "inconclusive"),
        ({"a": Score(3.6, 0.75), "b": Score(1, 1)}, "a >= b", "matched"),
        ({"a": Score(1, 1), "b": Score(1, 1)}, "a >= b", "inconclusive"),
        ({"a": Score(1, 1), "b": Score(3.6, 0.75)}, "a >= b", "violated"),
        ({"a": [2, 2], "b": [1, 1]}, "a > b", "matched"),  # All repetitions agree.
        ({"a": [1, 1], "b": [1, 1]}, "a > b", "inconclusive"),
        ({"a": [1, 1], "b": [1, 1]}, "a >= b", "matched"),
        ({"a": [0.1 + 0.2] * 2, "b": [0.3] * 2}, "b >= a", "matched"),  # Equal up to rounding.
        ({"a": [1, 1], "b": [2, 2]}, "a >= b", "violated"),
        ({"a": [1.9, 2.1], "b": 1}, "a > b", "matched"),  # A printed number.
        ({"a": [3, 3], "b": [2, 2], "c": [1, 1]}, "a > b > c", "matched"),
        ({"a": [3, 3], "b": [2, 2], "c": [1, 1]}, ["a > b", "c < b", "c <= a"], "matched"),
        ({"a": [3, 3], "b": [2, 2], "c": [1, 1]}, ["a", "b", "c"], "matched"),
        ({"a": [3, 3], "b": [1, 1], "c": [1, 1]}, "a > b > c", "inconclusive"),
        ({"a": [3, 3], "b": [1, 1], "c": [2, 2]}, "a > b > c", "violated"),
        ({"a": 2, "b": 1}, "a > b", "inconclusive"),  # Two numbers, measured once.
    ],
)
def test_order(scores, order, expected):
    assert verdict(ORDER, order=order, scores=scores).verdict == expected


def test_order_of_exact_numbers_and_of_level_ones():
    counted = {"order": "a > b", "scores": {"a": 2, "b": 1}, "exact": "counts"}
    assert verdict(ORDER, **counted).verdict == "matched"
    close = {"a": Score(1.0, 0.03), "b": Score(1.05, 0.04)}
    assert verdict(ORDER, order="a >= b", scores=close).verdict == "inconclusive"
    assert verdict(ORDER, order="a >= b", scores=close, level=0.2).verdict == "matched"
    # A level applies to >= alone.
    assert verdict(ORDER, order="a > b", scores=close, level=0.2).verdict == "inconclusive"


def test_an_order_in_brief_counts_its_gaps_and_names_the_weakest():
    scores = {"a": [1.0, 1.2], "0": 0.0, "b": [0.5, 0.7]}
    recorded = record(ORDER, {"order": "a > 0 >= b", "scores": scores})
    brief = "1 of 2 gaps hold, 1 reversed; the weakest, as stated: 0 >= b (0.60 ± 0.10)"
    assert in_brief({"recorded": recorded, "ours": "a: 1.10"}) == brief
    assert (
        in_brief({"recorded": {"pairs": [{}]}, "ours": "2 ± 1"}) == "2 ± 1" and in_brief({}) == ""
    )


def test_pairing_removes_what_repetitions_share():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=30)
    scores = {"a": shared + 0.1 + 0.01 * rng.normal(size=30), "b": shared}
    assert verdict(ORDER, order="a > b", scores=scores, paired=True).verdict == "matched"
    assert verdict(ORDER, order="a > b", scores=scores).verdict == "inconclusive"
    # Unequal numbers of repetitions cannot be paired.
    unequal = {"a": scores["a"], "b": shared[:-1]}
    assert "paired" not in verdict(ORDER, order="a > b", scores=unequal, paired=True).reason


def test_labels_of_a_table_do_not_change_the_pairs():
    table = pd.DataFrame({"method": list("aabb"), "score": [3.0, 5.0, 2.0, 4.0]})
    scores = {name: part.score for name, part in table.groupby("method")}
    arrays = {name: part.to_numpy() for name, part in scores.items()}
    by_labels = record(ORDER, {"order": "a > b", "scores": scores, "paired": True})
    assert by_labels == record(ORDER, {"order": "a > b", "scores": arrays, "paired": True})
    assert by_labels["pairs"][0]["se"] == 0


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_a_strict_order_never_holds_both_ways(a, b):
    first = verdict(ORDER, order="a > b", scores={"a": a, "b": b}).verdict
    second = verdict(ORDER, order="b > a", scores={"a": a, "b": b}).verdict
    assert {first, second} in ({"matched", "violated"}, {"inconclusive"})


def test_bound():
    x = np.linspace(0, 1, 100)
    assert verdict(BOUND, lhs=x, rhs=x, ceiling=2).verdict == "matched"
    assert verdict(BOUND, lhs=x, rhs=0.995, ceiling=1).verdict == "violated"
    result = verdict(BOUND, lhs=x, rhs=0.995, allowed=0.01, ceiling=np.inf)
    assert result.verdict == "matched"
    assert result.ours == (
        "1 of 100 trials violate; bound / observed 0.995 at the tightest, 1.97 in the median"
    )
    assert verdict(BOUND, lhs=x, rhs=1.0, ceiling=1.0).verdict == "vacuous"
    assert verdict(BOUND, lhs=x, rhs=45.0, ceiling=1.0).verdict == "vacuous"
    assert verdict(BOUND, lhs=x, rhs=45.0).verdict == "inconclusive"  # No ceiling.
    # Trials that could have failed count, even if there are few.
    part = verdict(BOUND, lhs=[0.5, 0.5], rhs=[0.9, 3.0], ceiling=1.0)
    assert verdict(BOUND, trials=[(np.full(1, 0.5), 0.9, 1.0), (0.5, 3.0, 1.0)]) == part
    assert part.verdict == "matched" and "1 of them could have" in part.reason


@pytest.mark.parametrize("lhs", [-5.0, 0.0, 5.0])
def test_a_left_side_may_reach_its_ceiling(lhs):
    assert verdict(BOUND, lhs=lhs, rhs=lhs + 1, ceiling=lhs).verdict == "vacuous"


def test_a_sharper_reading_saves_a_vacuous_bound():
    vacuous = {"lhs": [0.1, 0.2], "rhs": 45.0, "ceiling": 1.0}
    sharp = {"says": "the proof's constants", "lhs": [0.1, 0.2], "rhs": 0.3, "ceiling": 1.0}
    result = verdict(BOUND, **vacuous, sharper=sharp)
    assert result.verdict == "matched"
    assert "vacuous as stated" in result.reason and "the proof's constants" in result.reason
    assert verdict(BOUND, **vacuous, sharper=[sharp, sharp | {"rhs": 0.15}]).verdict == "vacuous"
    assert verdict(BOUND, **vacuous, sharper=sharp | {"rhs": 2.0}).verdict == "vacuous"
    broken = vacuous | {"rhs": 0.15}
    assert verdict(BOUND, **broken, sharper=sharp).verdict == "violated"


def fitted(slope, width):
    return RateFit(slope, slope - width, slope + width, 0.0, width / 2, 8, "repetitions")


@pytest.mark.parametrize(
    ("slope", "width", "upper_bound", "expected"),
    [
        (-0.5, 0.02, False, "matched"),
        (-0.59, 0.02, False, "matched"),  # Within 0.1.
        (-0.41, 0.10, False, "matched"),
        (-0.62, 0.02, False, "short"),  # A faster decay than the stated exponent.
        (-0.62, 0.02, True, "better"),  # A faster decay than the upper bound.
        (-0.38, 0.02, True, "short"),
        (-0.5, 0.11, True, "inconclusive"),
        (-2.17, 0.99, True, "inconclusive"),
    ],
)
def test_rate(slope, width, upper_bound, expected):
    numbers = {"rates": fitted(slope, width), "expected": -0.5, "upper_bound": upper_bound}
    assert verdict(RATE, **numbers).verdict == expected


def test_an_exact_power_law_does_not_depend_on_its_rounding():
    reasons = {
        verdict(RATE, rates=fitted(1 + rounding, 0.0), expected=1.0).reason
        for rounding in (-3e-15, 0.0, 2e-15)
    }
    assert len(reasons) == 1


def test_rates_of_growth_and_several_rates():
    def growth(slope, bound):
        return verdict(RATE, rates=fitted(slope, 0.02), expected=1.0, upper_bound=bound).verdict

    assert (growth(0.8, True), growth(0.8, False)) == ("better", "short")
    assert growth(1.2, True) == "short"
    both = {"m": fitted(-0.5, 0.02), "n": fitted(-1.4, 0.02)}
    expected = {"m": -0.5, "n": -1.0}
    assert verdict(RATE, rates=both, expected=expected, upper_bound=True).verdict == "matched"
    assert verdict(RATE, rates=both, expected=expected).verdict == "short"


def test_identity():
    assert verdict(SAME, difference=[1e-11, -1e-10], tolerance=1e-10).verdict == "matched"
    assert verdict(SAME, difference=-2e-10, tolerance=1e-10).verdict == "violated"
    assert verdict(SAME, difference=2e-10, tolerance=1e-9).verdict == "matched"
    # A large tolerance does not excuse more than rounding.
    assert verdict(SAME, difference=1e-4, tolerance=1e-3).verdict == "inconclusive"
    assert verdict(SAME, difference=1e-4, tolerance=1e-6, scale=1e4).verdict == "matched"


def test_a_rate_whose_source_says_at_most_is_an_upper_bound():
    for says, expected in {
        "takes O(n) operations": "better",
        "exponent at most 1": "better",
        "falls as n": "short",
        "the mostly linear Oracle(n)": "short",
    }.items():
        claim = replace(RATE, says=says)
        assert verdict(claim, rates=fitted(0.8, 0.02), expected=1.0).verdict == expected
        assert verdict(claim, rates=fitted(1.2, 0.02), expected=1.0).verdict == "short"
        assert verdict(claim, rates=fitted(1.0, 0.02), expected=1.0).verdict == "matched"


OF_PARTS = [name for name in VERDICTS if name != "not testable"]


@given(st.lists(st.sampled_from(OF_PARTS), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_worst_of_several_decides(verdicts):
    for worst in ("violated", "short", "differs", "inconclusive", "near", "vacuous"):
        if worst in verdicts:
            assert combined(verdicts) == worst
            return
    assert combined(verdicts) == ("better" if set(verdicts) == {"better"} else "matched")


DECLARED = replace(ORDER, protocol="nothing is chosen")
FIT = fit_rate([1, 2, 4], [1, 2, 4])


@pytest.mark.parametrize(
    ("claim", "numbers", "message"),
    [
        (NUMBER, {"lhs": 1, "rhs": 2}, r"p/n is of kind value: got an un.* 'lhs'; needs samples="),
        (NUMBER, {}, "got no numbers"),
        (NUMBER, {"value": 1, "samples": [1, 2]}, "not both"),
        (NUMBER, {"samples": [1, 2], "repetitions": 2}, "go with value="),
        (NUMBER, {"value": np.nan}, r"p/n: value is nan"),
        (NUMBER, {"value": "much"}, "not numeric"),
        (NUMBER, {"value": 1, "se": -1}, "negative"),
        (NUMBER, {"value": 1, "exact": True}, "explain it"),
        (NUMBER, {"value": 98.9, "repetitions": 20}, "repetitions=20 without se="),
        (NUMBER, {"value": 98.9, "se": 0.1, "repetitions": 2.5}, "repetitions=2.5: expected a"),
        (NUMBER, {"samples": [3.0]}, "at least two repetitions"),
        (NUMBER, {"value": [1, 2]}, r"1 number\(s\), 98.90; got shape \(2,\)"),
        (ERROR, {"samples": [[1, 2], [3, np.inf]]}, r"samples\[1, 1\] is inf"),
        (NUMBER, {"samples": np.ma.array([1, 2, 9], mask=[0, 0, 1])}, "samples has 1 masked"),
        (NUMBER, {"value": np.ma.masked, "se": 0.1}, "value has 1 masked"),
        (SAME, {"difference": [1e-9, 3j], "tolerance": 1e-6}, "difference is complex"),
        (ORDER, {"order": "a > b", "scores": {"a": [1, np.nan], "b": 2}}, r"\['a'\]\[1\] is nan"),
        (ORDER, {"order": "a > c", "scores": {"a": 1, "b": 2}}, "names 'c', which has no score"),
        (ORDER, {"order": "a >= b", "scores": {"a": 2, "b": 1}, "level": -1}, "level=-1 is negat"),
        (ORDER, {"order": "a >", "scores": {"a": 1}}, "not a chain"),
        (ORDER, {"order": "a > t", "scores": {"a": 1}, "thresholds": [1]}, "no mapping of names"),
        (ORDER, {"order": "a > t", "scores": {"a": 1, "t": 2}, "thresholds": {"t": 3}}, "'t' is a"),
        (DECLARED, {"order": "a > ten", "scores": {"a": 1}, "thresholds": {"ten": 3}}, "not name"),
        (NUMBER, {"value": 1, "precondition": False}, "needs because="),
        (NUMBER, {"value": 1, "precondition": 0, "because": "x"}, "neither True nor False"),
        (NUMBER, {"value": 1, "because": "x"}, "which is missing"),
        (ORDER, {"order": "a > b", "scores": {"a": [1.0], "b": 2}}, "at least two"),
        (ORDER, {"order": "a > b", "scores": [1, 2]}, "needs order="),
        (BOUND, {"lhs": [1, 2]}, "needs lhs=array, rhs=array"),
        (BOUND, {"lhs": [1, 2], "rhs": [1, 2, 3]}, "broadcast"),
        (BOUND, {"lhs": [1, 2], "rhs": [[2], [3]]}, r"\(2,\) and rhs of shape \(2, 1\)"),
        (BOUND, {"trials": [([1, 2], [[2], [3]], 4)]}, r"\(2, 1\) and ceiling of shape \(\)"),
        (BOUND, {"trials": [(np.ma.array([1, 9], mask=[0, 1]), 2, 4)]}, "lhs has 1 masked"),
        (SAME, {"difference": [1, 2], "tolerance": 3, "scale": [[2], [3]]}, "and scale of shape"),
        (BOUND, {"lhs": [], "rhs": []}, "lhs is empty"),
        (BOUND, {"lhs": 1, "rhs": 2, "allowed": 1.5}, "fraction"),
        (BOUND, {"lhs": 2, "rhs": 3, "ceiling": 1}, "lhs exceeds the ceiling"),
        (BOUND, {"lhs": 1, "rhs": 2, "sharper": {"lhs": 1, "rhs": 2}}, "says="),
        (RATE, {"rates": {"m": FIT}, "expected": {"n": 1}}, r"\['m', 'n'\]"),
        (RATE, {"rates": {"m": 0.5}, "expected": {"m": 1}}, "not a fit_rate"),
        (RATE, {"rates": FIT, "expected": np.nan}, "expected is nan"),
        (BOUND, {"difference": 1}, "of kind bound: got an unexpected .* 'difference'"),
        (SAME, {"difference": 1}, "positive tolerance"),
        (SAME, {"difference": 1, "tolerance": 1, "scale": 0}, "positive scale"),
    ],
)
def test_unsuitable_numbers_are_refused(claim, numbers, message):
    with pytest.raises(RecordError, match=message):
        record(claim, numbers)
