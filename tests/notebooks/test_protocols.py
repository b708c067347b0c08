"""Protocols in `notebooks/protocols.yml` name what they refer to."""

import re
from pathlib import Path

import yaml

PROTOCOLS = Path(__file__).parents[2] / "notebooks" / "protocols.yml"
VAGUE = re.compile(r"\bas (?:it is |they are )?registered\b|\bas in (?:its|their) rows?\b")
# Their results count under these words, which another text would turn into results that wait.
PUBLISHED_WITH_VAGUE_WORDS = {
    "raj2017/table1-order",
    "raj2017/table1-second-layer",
    "raj2017/table2-order",
}


def test_no_protocol_refers_to_rows_as_they_are_registered():
    """The digest of such a protocol stays the same when the rows get another one."""
    protocols = yaml.safe_load(PROTOCOLS.read_text("utf-8"))
    vague = {claim for claim, text in protocols.items() if VAGUE.search(text)}
    assert vague == PUBLISHED_WITH_VAGUE_WORDS, "state the settings, or name the claims"
