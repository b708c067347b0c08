"""The light installation: its packages, the cost of an import, and pinned versions."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from invariance.core.extras import need

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LIBRARY = "datasets evaluation features groups kernels linear orbits spectral theory".split()
#: Packages that are optional or slow to import.
HEAVY = set(
    "IPython PIL array_api_compat array_api_strict click cvxpy dask distributed matplotlib "
    "nbformat pandas papermill pooch sphinx sympy torch yaml".split()
)
OFFLINE = r"NewConnectionError|NameResolutionError|ConnectTimeout|ProxyError|Network is unreachable"


def run(*command: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


def test_importing_and_using_the_library_imports_no_heavy_package():
    """Packages that scikit-learn itself imports do not count."""
    library = "\n".join(f"import invariance.{part}" for part in LIBRARY)
    code = f"""
import sys, numpy, sklearn.linear_model, sklearn.svm
before = {{name.partition(".")[0] for name in sys.modules}}
{library}
from invariance import features, groups, kernels
X, shifts = numpy.eye(4), groups.CyclicShifts(4)
features.OrbitFourier(shifts, 3, random_state=0).fit_transform(X)
kernels.BestFit(kernels.Linear(), shifts)(X)
print(*{{name.partition(".")[0] for name in sys.modules}} - before)
"""
    done = run(sys.executable, "-c", code)
    added = {*done.stdout.split()}
    assert done.returncode == 0 and "invariance" in added and not added & HEAVY, done.stderr


def pip(*arguments: object) -> None:
    """Run pip, and skip the test without a network."""
    limits = ("--disable-pip-version-check", "--retries", "1", "--timeout", "30")
    done = run(sys.executable, "-m", "pip", *limits, *arguments)
    output = done.stdout + done.stderr
    if done.returncode and (re.search(OFFLINE, output) or os.environ.get("PIP_NO_INDEX")):
        pytest.skip("pip cannot reach a package index")
    assert done.returncode == 0, output


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    # a copy, because setuptools would create a build/ folder in the source
    source = tmp_path / "source"
    shutil.copytree(
        ROOT / "invariance", source / "invariance", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")

    # templates, style sheets and all other files in the package
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {
        p.relative_to(source).as_posix() for p in source.glob("invariance/**/*") if p.is_file()
    }
    assert files <= packed

    bare = tmp_path / "bare"
    venv.create(bare)
    python = bare / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    into = ("--python", python, "install", "--quiet", "--no-compile")
    pip(*into, "--constraint", ROOT / "constraints.txt", wheel)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["INVARIANCE_CACHE"] = environment["INVARIANCE_DATA"] = str(tmp_path / "nothing")

    def bare_python(*arguments: object) -> subprocess.CompletedProcess[str]:
        return run(python, *arguments, cwd=tmp_path, env=environment)

    listing = "from importlib.metadata import distributions as d; print(*{x.name for x in d()})"
    installed = bare_python("-c", listing).stdout.split()
    assert len(installed) <= 12, sorted(installed)

    # the examples of the README, and every subpackage
    prelude = """
import numpy as np
from sklearn.datasets import load_digits
images, digit = load_digits(return_X_y=True)
some = np.isin(digit, (1, 8))
X_train, y_train = images.reshape(-1, 8, 8).sum(axis=1)[some] / 16, digit[some]
"""
    blocks = [block for block in BLOCKS if "torch" not in block]
    assert len(blocks) >= 2
    everything = "".join(f"import invariance.{part}\n" for part in LIBRARY)
    script = tmp_path / "readme.py"
    script.write_text("\n".join([everything, prelude, *blocks]), encoding="utf-8")
    done = bare_python(script)
    assert done.returncode == 0, done.stderr
    assert 0.9 < float(done.stdout.split()[0]) <= 1

    # the error for a missing package names its extra
    code = """
from invariance.datasets import load_mnist
try:
    load_mnist()
except ImportError as error:
    print(error)
from invariance.companion.__main__ import main
main()
"""
    done = bare_python("-c", code)
    assert done.returncode == 1 and 'pip install ".[data]"' in done.stdout
    assert 'pip install ".[companion]"' in done.stderr


def test_no_text_installs_the_project_from_a_package_index():
    """The name is not registered, so that an index could deliver another project."""
    command = re.compile(r"""install[^\n]*?[\s"'`]invariance(?=[\["'`\s]|$)(?!\[\w+\] @)""", re.M)
    texts = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")]
    for folder in ("invariance", "notebooks", ".github", ".binder", ".ci"):
        texts += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".yml", "")]
    named = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts
        if path.is_file()
        for match in command.finditer(path.read_text("utf-8"))
        if "a clone of invariance" not in match[0]
    }
    assert len(texts) > 100 and not named, named


# -- optional packages: installed, or an error with the command that installs them -----------------


def test_an_installed_package_is_imported():
    import numpy.linalg

    assert need("numpy.linalg", "qp") is numpy.linalg


def test_the_error_of_a_broken_package_names_the_missing_module(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import what_it_needs_itself\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs_itself"):
        need("broken_package", "qp")


# -- consistency of the files of the project -------------------------------------------------------

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [Requirement(r) for r in sum(EXTRAS.values(), PROJECT["dependencies"])]
RANGES = [r for r in REQUIREMENTS if r.name != "invariance"]  # extras that include other extras
PINS = {
    canonicalize_name(line.split("==")[0]): line.split("==")[1]
    for line in (ROOT / "constraints.txt").read_text("utf-8").split()
}


def test_every_dependency_is_pinned_within_its_range():
    pinned = [(requirement, PINS[canonicalize_name(requirement.name)]) for requirement in RANGES]
    assert [(r, pin) for r, pin in pinned if not r.specifier.contains(pin)] == []


def included_by(extras: set[str]) -> set[str]:
    """These extras, and those that they include."""
    ours = [r for name in extras for r in map(Requirement, EXTRAS[name]) if r.name == "invariance"]
    included = {extra for r in ours for extra in r.extras}
    return extras if included <= extras else included_by(extras | included)


def test_extras_include_extras_that_exist():
    assert included_by(set(EXTRAS)) == set(EXTRAS)
    assert included_by({"test"}) >= {"companion", "qp", "permutations", "data", "arrays"}


def test_pins_are_exact_versions():
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line), line


def test_conda_environment_installs_the_project_with_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    python = environment["dependencies"][0]
    pip = environment["dependencies"][-1]["pip"]
    assert python == "python" + PROJECT["requires-python"]
    assert pip[0] == "--constraint constraints.txt"
    extras = re.fullmatch(r"--editable \.\[(.*)\]", pip[1])[1].split(",")
    # PyTorch is optional
    assert set(EXTRAS) - included_by(set(extras)) == {"gpytorch", "speed", "torch"}
    assert len(pip) == 2, "versions belong into constraints.txt alone"


def test_all_files_state_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PROJECT["version"] == version("invariance")
    assert len(citation["references"]) == 4


def test_the_readme_names_every_extra():
    listed = re.search(r"The extras\s+are (.*?)\.\n", README, re.DOTALL)[1]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(EXTRAS)


def test_the_make_commands_of_the_readme_exist():
    for command in ("make report", "make test", "make full", "make lab"):
        assert command in README
        assert re.search(rf"^{command.split()[1]}:", MAKEFILE, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_workflows_run_the_stated_python_versions_and_make_targets():
    workflows = {
        p.stem: yaml.safe_load(p.read_text("utf-8")) for p in ROOT.glob(".github/workflows/*")
    }
    promised = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert workflows["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == promised
    text = "".join(p.read_text("utf-8") for p in ROOT.glob(".github/workflows/*"))
    for target in re.findall(r"run: make (\w+)", text):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0][
        "hooks"
    ]
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
    viewers = json.loads(settings.read_text("utf-8"))["@jupyterlab/docmanager-extension:plugin"]
    assert viewers == {"defaultViewers": {"python": "Jupytext Notebook"}}
    # JupyterLab in that environment reads this folder
    paths = pytest.importorskip("jupyter_core.paths")
    monkeypatch.setattr(paths, "ENV_CONFIG_PATH", [str(tmp_path / "etc" / "jupyter")])
    assert str(settings.parents[1]) in paths.jupyter_config_path()
    assert settings.parent.name == "labconfig"
