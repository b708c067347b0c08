"""What a notebook suggests to try is a command that the command line takes."""

import re
import shlex
from pathlib import Path

import pytest

from invariance.companion.parameters import read_parameters, resolve
from invariance.companion.paths import Paths
from invariance.companion.source import read_notebook

PATHS = Paths(Path(__file__).parents[3])
COMMAND = re.compile(r"`invariance run (\S+)((?: -p \S+ (?:\"[^\"]*\"|\S+))*)`")
FURTHER = re.compile(r"`((?:-p \S+ (?:\"[^\"]*\"|\S+) ?)+)`")


def suggestions(notebook):
    """(notebook, parameters) of every command in the last text of a notebook."""
    texts = [
        c.source for c in read_notebook(PATHS.source(notebook)).cells if c.cell_type == "markdown"
    ]
    text = " ".join(texts[-1].partition("## Try it\n")[2].split())
    commands = COMMAND.findall(text)
    commands += [(notebook, rest) for rest in FURTHER.findall(text)]
    for name, rest in commands:
        words = shlex.split(rest)
        yield name, dict(zip(words[1::3], words[2::3], strict=True))


SUGGESTED = [(n, *found) for n in PATHS.all_notebooks() for found in suggestions(n)]


def test_many_notebooks_suggest_something():
    assert len({notebook for notebook, *_ in SUGGESTED}) >= 20


@pytest.mark.parametrize("notebook, named, given", SUGGESTED)
def test_a_suggestion_is_taken(notebook, named, given):
    """Parameters of the notebook, values of their types, and something that changes."""
    parameters = read_parameters(PATHS.source(notebook))
    assert named == notebook and given
    values = resolve(notebook, parameters, given)
    assert values != {name: parameter.default for name, parameter in parameters.items()}
