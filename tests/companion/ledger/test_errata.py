"""Errata: sentences with recorded numbers, and the mathematics of the project's counterexamples."""

import math
from pathlib import Path

import pytest

from invariance.companion.errors import LedgerError
from invariance.companion.files import read_yaml
from invariance.companion.ledger.claims import Claim, load_ledger
from invariance.companion.ledger.errata import (
    NOT_MEASURED,
    TABLE,
    correction_of,
    corrections,
    recorded_numbers,
)
from invariance.companion.paths import Paths

PATHS = Paths(Path(__file__).parents[3])
CLAIM = Claim("demo/law", "identity", "eq. 1", "generated")
TEXTS = {
    "notebook": "demo/a",
    "title": "A law",
    "printed": "$x = y$",
    "example": "The sides are %(exact).1f and %(printed).2f.",
    "holds": "$x = 2 y$",
    "verified": "%(repaired_fails).0f of 9 fail.",
}


def numbers_of(claim_id: str) -> dict[str, float]:
    """Recorded numbers of one of the project's counterexamples."""
    notebook = read_yaml(PATHS.errata)[claim_id]["notebook"]
    numbers = recorded_numbers(PATHS.published(notebook) / f"{TABLE}.csv")
    assert numbers is not None, f"no full run of {notebook} is published"
    return numbers


def test_the_sentences_hold_recorded_numbers():
    numbers = {"exact": 2.0, "printed": 1.5, "repaired_fails": 0}
    correction = correction_of(CLAIM, TEXTS, numbers)
    assert correction.example == "The sides are 2.0 and 1.50."
    assert correction.verified == "0 of 9 fail."
    assert correction_of(CLAIM, TEXTS, None).example == NOT_MEASURED
    with pytest.raises(LedgerError, match=r"demo/law has no number for 'exact'"):
        correction_of(CLAIM, TEXTS, {"printed": 1.5})


def test_a_malformed_entry_is_refused(tmp_path):
    path = tmp_path / "errata.yml"
    path.write_text("demo/law: {title: A law}\n", "utf-8")
    with pytest.raises(LedgerError, match="demo/law: expected the fields notebook, title"):
        corrections(path, {"demo/law": CLAIM}, tmp_path)
    assert corrections(tmp_path / "none.yml", {}, tmp_path) == []


def test_every_erratum_of_the_ledger_has_a_counterexample_and_no_other_claim_has():
    ledger = load_ledger(PATHS.ledger)
    shown = corrections(PATHS.errata, ledger, PATHS.figures)
    with_erratum = [claim.id for claim in ledger.values() if claim.erratum is not None]
    assert [correction.claim.id for correction in shown] == with_erratum
    for correction in shown:
        assert NOT_MEASURED not in (correction.example, correction.verified)
        numbers = numbers_of(correction.claim.id)
        assert abs(numbers["printed"] - numbers["exact"]) > 0.1
        assert 0 == numbers["repaired_fails"] < numbers["printed_fails"] <= numbers["comparisons"]


def test_counterexample_of_the_expected_inner_product():
    s = 2
    maxima = [max(g, h) for g in (1, -1) for h in (1, -1)]
    same_sign = [max(g, g) for g in (1, -1)]
    numbers = numbers_of("mroueh2015/section2-expectation")
    assert numbers["printed"] == pytest.approx(s - sum(maxima) / 4)
    assert numbers["exact"] == pytest.approx(s - sum(same_sign) / 2)
    assert numbers["repaired"] == pytest.approx(numbers["exact"])


def test_counterexample_of_the_local_kernel():
    # g x for a swap and a three-cycle of (-2, 1, 1), and g^-1 x: the order of a group's elements.
    swapped = (1, -2, 1)
    turned = (1, 1, -2)
    turned_back = (1, -2, 1)
    numbers = numbers_of("mroueh2015/remark3-local")
    apart = math.dist(swapped, turned) / math.sqrt(6)
    assert numbers["printed"] == pytest.approx(2 * apart / 4)
    assert numbers["repaired"] == pytest.approx(math.dist(swapped, turned_back), abs=1e-12)
    assert numbers["exact"] == pytest.approx(numbers["repaired"], abs=1e-12)


def test_counterexample_of_the_bound_on_the_risk():
    N = 400
    # E |mean of N coins| = 2^-N C(N, N/2), the complexity of one function of size one.
    complexity = math.comb(N, N // 2) / 2**N
    last_term = math.sqrt((N + 1) * math.log(2) / (2 * N))
    allowed = 4 * complexity + 2 / math.sqrt(N)
    numbers = numbers_of("mroueh2015/theorem5-rademacher")
    assert numbers["complexity"] == pytest.approx(complexity)
    assert numbers["printed"] == pytest.approx(allowed + last_term)
    assert numbers["repaired"] == pytest.approx(allowed + 2 * last_term)
    # Risk 1 against empirical risk 0, with a probability above delta.
    assert numbers["printed"] < numbers["exact"] == 1 < numbers["repaired"]
    assert numbers["probability_of_agreement"] == pytest.approx(2.0**-N)
    assert numbers["delta"] < numbers["probability_of_agreement"]


def test_counterexample_of_the_moment_generating_function():
    numbers = numbers_of("liu2022/appendixB-mgf")
    assert numbers["exact"] == pytest.approx(1 / math.sqrt(1 - 0.95**2))
    assert numbers["printed"] == pytest.approx(math.exp(0.95**2))
    assert numbers["printed"] < numbers["exact"]
    assert numbers["exact_in_repaired_range"] == pytest.approx(1 / math.sqrt(1 - 0.89**2))
    assert numbers["repaired"] == pytest.approx(math.exp(0.89**2))
    assert numbers["exact_in_repaired_range"] < numbers["repaired"]


def test_counterexample_of_the_average_fit():
    translates = [(1, 3), (3, 1)]
    products = [(a * 2 + b * 4) / 2 for a, b in translates]
    numbers = numbers_of("liu2022/average-fit-factor")
    assert numbers["exact"] == pytest.approx(sum(products) / 2)
    assert numbers["repaired"] == pytest.approx(2 * 3)
    assert numbers["printed"] == pytest.approx(2 * 2 * 3)
