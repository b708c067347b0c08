"""The light install: what `pip install .` brings, and what an import costs."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
LIBRARY = "datasets evaluation features groups kernels linear orbits spectral theory".split()
#: Optional, or slow to import.
HEAVY = set(
    "IPython PIL array_api_compat click cvxpy dask distributed matplotlib nbformat pandas "
    "papermill pooch sphinx sympy torch yaml".split()
)
OFFLINE = r"NewConnectionError|NameResolutionError|ConnectTimeout|ProxyError|Network is unreachable"


def run(*command: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


def test_importing_the_library_imports_nothing_heavy():
    """But what scikit-learn does itself: pandas, where that is installed."""
    library = "\n".join(f"import invariance.{part}" for part in LIBRARY)
    code = f"""
import sys, sklearn.linear_model, sklearn.svm
before = {{name.partition(".")[0] for name in sys.modules}}
{library}
print(*{{name.partition(".")[0] for name in sys.modules}} - before)
"""
    done = run(sys.executable, "-c", code)
    added = {*done.stdout.split()}
    assert done.returncode == 0 and "invariance" in added and not added & HEAVY, done.stderr


def pip(*arguments: object) -> None:
    """Run pip; skip the test where there is no network."""
    limits = ("--disable-pip-version-check", "--retries", "1", "--timeout", "30")
    done = run(sys.executable, "-m", "pip", *limits, *arguments)
    said = done.stdout + done.stderr
    if done.returncode and (re.search(OFFLINE, said) or os.environ.get("PIP_NO_INDEX")):
        pytest.skip("pip cannot reach a package index")
    assert done.returncode == 0, said


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_in_a_bare_environment(tmp_path):
    # a copy, because setuptools would leave its own build/ beside ours
    source = tmp_path / "source"
    shutil.copytree(
        ROOT / "invariance", source / "invariance", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")

    # templates, style sheets and whatever else lies beside the code
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

    # the README's examples, and every part of the library
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

    # what is not installed is named with its extra
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
    assert done.returncode == 1 and 'pip install "invariance[data]"' in done.stdout
    assert 'pip install "invariance[companion]"' in done.stderr
