"""pyproject.toml, constraints.txt and environment.yml name the same packages and versions."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
README, MAKEFILE = ((ROOT / name).read_text() for name in ("README.md", "Makefile"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [Requirement(r) for r in sum(EXTRAS.values(), PROJECT["dependencies"])]
RANGES = [r for r in REQUIREMENTS if r.name != "invariance"]  # extras that bring other extras
PINS = {
    canonicalize_name(line.split("==")[0]): line.split("==")[1]
    for line in (ROOT / "constraints.txt").read_text().split()
}


def test_every_dependency_is_pinned_within_its_range():
    pinned = [(requirement, PINS[canonicalize_name(requirement.name)]) for requirement in RANGES]
    assert [(r, pin) for r, pin in pinned if not r.specifier.contains(pin)] == []


def brought_by(extras: set[str]) -> set[str]:
    """These extras, and those that they bring."""
    ours = [r for name in extras for r in map(Requirement, EXTRAS[name]) if r.name == "invariance"]
    asked = {extra for r in ours for extra in r.extras}
    return extras if asked <= extras else brought_by(extras | asked)


def test_extras_bring_extras_that_exist():
    assert brought_by(set(EXTRAS)) == set(EXTRAS)
    assert brought_by({"test"}) >= {"companion", "qp", "permutations", "data", "arrays"}


def test_pins_are_plain():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line), line


def test_conda_environment_installs_the_project_with_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip = environment["dependencies"][0], environment["dependencies"][-1]["pip"]
    assert python == "python" + PROJECT["requires-python"]
    assert pip[0] == "--constraint constraints.txt"
    extras = re.fullmatch(r"--editable \.\[(.*)\]", pip[1])[1].split(",")
    # PyTorch is for those who ask for it
    assert set(EXTRAS) - brought_by(set(extras)) == {"speed", "torch"}
    assert len(pip) == 2, "versions belong into constraints.txt alone"


def test_the_version_is_stated_once():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"] == version("invariance")
    assert len(citation["references"]) == 4


def test_the_readme_names_every_extra():
    said = re.search(r"The extras\s+are (.*?)\.\n", README, re.DOTALL)[1]
    assert sorted(re.findall(r"`(\w+)`", said)) == sorted(EXTRAS)


def test_what_a_newcomer_types_exists():
    for command in ("make report", "make test", "make full", "make lab"):
        assert command in README
        assert re.search(rf"^{command.split()[1]}:", MAKEFILE, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_workflows_run_what_is_promised():
    workflows = {p.stem: yaml.safe_load(p.read_text()) for p in ROOT.glob(".github/workflows/*")}
    promised = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert workflows["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == promised
    said = "".join(p.read_text() for p in ROOT.glob(".github/workflows/*"))
    for target in re.findall(r"run: make (\w+)", said):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    checked = re.search(r"^check:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    for hook in hooks:
        tool = hook["entry"].split("/")[-1].split(" --")[0]
        assert f"$(BIN)/{tool}" in checked, tool


def test_a_double_click_in_jupyterlab_opens_text_as_a_notebook(tmp_path, monkeypatch):
    place = re.search(r"^LAB_SETTINGS := (.*)$", MAKEFILE, re.MULTILINE)[1]
    command = re.search(r"^\t\$\(BIN\)/(jupytext-config .*)$", MAKEFILE, re.MULTILINE)[1]
    settings = Path(place.replace("$(VENV)", str(tmp_path)))
    words = command.replace("$(LAB_SETTINGS)", str(settings)).split()
    subprocess.run([Path(sys.executable).parent / words[0], *words[1:]], check=True)
    viewers = json.loads(settings.read_text())["@jupyterlab/docmanager-extension:plugin"]
    assert viewers == {"defaultViewers": {"python": "Jupytext Notebook"}}
    # the folder is one in which JupyterLab of that environment looks
    paths = pytest.importorskip("jupyter_core.paths")
    monkeypatch.setattr(paths, "ENV_CONFIG_PATH", [str(tmp_path / "etc" / "jupyter")])
    assert str(settings.parents[1]) in paths.jupyter_config_path()
    assert settings.parent.name == "labconfig"
