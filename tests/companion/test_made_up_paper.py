"""A companion to a made-up paper, in a folder of its own: from text to site, usual commands."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main

from .conftest import Project

CLAIMS = """\
claims:
  - {id: doe2031/table1, kind: value, source: table 1, says: "half of the coins show heads",
     paper: 0.50, margin: 0.05, better: higher, data: generated, protocol: "10,000 coins, seed 1"}
  - {id: doe2031/figure1, kind: order, source: figure 1, says: "more coins err less",
     data: generated, protocol: "100 and 10,000 coins, 20 draws, seed 1"}
  - {id: doe2031/lemma1, kind: identity, source: lemma 1, says: "heads and tails are all coins",
     data: generated, protocol: "10,000 coins, seed 1"}
"""
PAPERS = """\
name: coins
title: Do coins fall evenly?
text: One paper says so.
papers:
  doe2031: {title: On Coins, authors: Doe, notebook: doe2031/coins, figure: heads,
            caption: Heads., links: {paper: "https://example.org/coins"}}
findings:
- {title: Evenly, notebook: doe2031/coins, figure: heads,
   says: "Heads: {{ recorded('doe2031/table1').value[0] }}."}
methods: {coin: ["#767676", "o"]}
"""
CELLS = (
    "import matplotlib.pyplot as plt\nimport numpy as np\nfrom invariance.companion import look\n"
    "draws = np.random.default_rng(1).integers(0, 2, (20, 10_000))\nheads = draws.mean(axis=1)",
    'run.claim("doe2031/table1", samples=heads)',
    "few = abs(draws[:, :100].mean(axis=1) - 0.5)\nmany = abs(heads - 0.5)\n"
    'run.claim("doe2031/figure1", order="many > few", scores={"few": few, "many": many},\n'
    '          note="the order is turned round on purpose")',
    'run.claim("doe2031/lemma1", difference=1e-5, tolerance=1e-3, note="more than rounding")',
    'figure, axes = plt.subplots()\naxes.plot(heads, **look("coin")._asdict())\n'
    'run.figure(figure, "heads", alt="Shares of heads in twenty draws")',
    'run.say("Heads are {share:.1%} of all coins.", share=heads.mean())',
)


@pytest.mark.notebooks
def test_from_text_to_site(tmp_path: Path, monkeypatch):
    """One notebook, three claims, one of each: matched, violated, inconclusive."""
    project = Project(tmp_path)
    project.notebooks.mkdir()
    project.ledger.write_text(CLAIMS)
    project.papers.write_text(PAPERS)
    project.write("doe2031/coins", *CELLS)
    project.readme.write_text(
        "# Coins\n\n<!-- scoreboard: written by `invariance scoreboard` from "
        "figures/*/*/results.json -->\n<!-- end of scoreboard -->\n"
    )
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    monkeypatch.delenv("INVARIANCE_RUN_DIR", raising=False)

    def invoke(*command: str) -> str:
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, (command, done.output, done.exception)
        return done.output

    invoke("run", "--profile", "full")
    board = invoke("scoreboard")
    assert "**1 of the 3 claims are reproduced**" in board
    assert "2 are not (1 violated, 1 inconclusive)" in board
    invoke("pages")
    invoke("check")
    invoke("site", "--out", str(tmp_path / "site"))
    pages = {path.relative_to(tmp_path / "site").as_posix(): path.read_text()
             for path in (tmp_path / "site").rglob("*.html")}  # fmt: skip
    assert "Do coins fall evenly?" in pages["index.html"] and "Heads: 0.4" in pages["index.html"]
    paper = pages["papers/doe2031.html"]
    assert all(word in paper for word in ("On Coins", "matched", "violated", "inconclusive"))
    assert "of all coins" in pages["doe2031/coins.html"]
    assert "doe2031/lemma1" in pages["claims.html"]
    everything = "".join(pages.values())
    assert not [word for word in ("mroueh", "Orbit", "invariant") if word in everything]
