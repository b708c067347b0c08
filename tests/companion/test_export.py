"""``invariance export paper-json``: the claims in a form that other programs read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main

jsonschema = pytest.importorskip("jsonschema")

TEXT = {"type": "string", "minLength": 1}
#: The format as its authors describe it: required parts, and the forms of ids and versions.
SCHEMA = {
    "type": "object",
    "required": [
        *("id", "title", "version", "status", "authors", "abstract", "claims"),
        *("does_not_claim", "reproducibility"),
    ],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$"},
        "title": TEXT,
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+(-[a-z0-9.]+)?$"},
        "status": {"enum": ["outline", "draft", "review", "submitted", "published"]},
        "authors": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT}},
        },
        "abstract": {"type": "string", "minLength": 50},
        "claims": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["id", "statement"],
                "additionalProperties": False,
                "properties": {
                    "id": {"type": "string", "pattern": "^C[0-9]+$"},
                    "statement": TEXT,
                    "evidence": {"type": "array", "items": TEXT},
                },
            },
        },
        "does_not_claim": {"type": "array", "minItems": 1, "items": TEXT},
        "reproducibility": {
            "type": "object",
            "required": ["environment", "commands"],
            "additionalProperties": False,
            "properties": {
                "data": TEXT,
                "environment": TEXT,
                "commands": {"type": "array", "minItems": 1, "items": TEXT},
                "agent_friendly": {"type": "boolean"},
                "human_intervention_required": {"type": "boolean"},
            },
        },
    },
}


def export(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["export", "paper-json", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_claim_is_exported_with_its_limits_and_its_command():
    exported = json.loads(export())
    jsonschema.validate(exported, SCHEMA)
    commands = exported["reproducibility"]["commands"]
    assert len(exported["claims"]) == len(commands) == len(set(commands))
    for claim, command in zip(exported["claims"], commands, strict=True):
        assert command == f"invariance claim {claim['evidence'][0]} --run"
    numbers = [claim["id"] for claim in exported["claims"]]
    assert numbers == [f"C{number}" for number in range(1, len(numbers) + 1)]
    not_claimed = "\n".join(exported["does_not_claim"])
    for claim_id in ("raj2017/gicdf-memory", "mroueh2015/remark3-local"):  # A limit, an erratum.
        assert claim_id in not_claimed


def test_the_file_of_a_new_companion_is_valid(tmp_path, monkeypatch):
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new", "doe2031"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "doe2031")
    assert "paper.json" in export("--out", "paper.json")
    exported = json.loads(Path("paper.json").read_text(encoding="utf-8"))
    jsonschema.validate(exported, SCHEMA)
    assert exported["claims"][0]["evidence"][0] == "doe2031/first"
