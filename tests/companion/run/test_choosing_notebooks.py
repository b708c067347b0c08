"""No notebook that chooses can reach a test label while it does."""

import re
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.companion.source import calls_of, chooses, notebook_code

PATHS = Paths(Path(__file__).parents[3])
CHOOSING = [name for name in PATHS.all_notebooks() if chooses(PATHS.source(name))]

#: Ways past the door: other loaders, the door itself, and files read by hand.
AROUND = re.compile(
    r"sklearn\.datasets|fetch_openml|with(?:held|hold)\b|_all\b|INVARIANCE_WITHHOLD|\bopen\(|np\.load\b"
)


def test_there_are_some():
    assert "mroueh2015/mnist" in CHOOSING


@pytest.mark.parametrize("notebook", CHOOSING)
def test_data_come_through_the_door_alone(notebook):
    code = notebook_code(PATHS.source(notebook))
    before, ended, _ = code.partition("run.measure()")
    assert ended, "run.measure() ends the choosing"
    assert AROUND.findall(before) == []
    names = [name for name, _ in calls_of(PATHS.source(notebook))]
    assert names.count("run.measure") == 1 and "run.select" in names
    # whatever is claimed is measured afterwards
    assert "run.claim(" not in before
