import pytest

from invariance.companion.errors import NotebookError
from invariance.companion.source import Parameter, notebook_code, read_parameters, resolve
from invariance.core.parameters import ParameterError

CELL = """\
# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
sizes: list[int] = [1, 2]
ridge: float | None = None
"""


def test_names_types_defaults_and_comments(project):
    source = project.source(project.write("p/a", parameters=CELL))
    parameters = read_parameters(source)
    assert list(parameters) == ["profile", "seed", "sizes", "ridge"]
    assert parameters["profile"] == Parameter("profile", "str", "quick", "quick or full")
    assert parameters["sizes"].type == "list[int]" and parameters["ridge"].default is None


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int", "3", 3),
        ("float", "3", 3.0),
        ("float", "1e-3", 1e-3),
        ("bool", "True", True),
        ("str", "12", "12"),
        ("list[float]", "[1, 2.5]", [1.0, 2.5]),
        ("int | None", "None", None),
        ("int | None", "4", 4),
        ("list[str]", '["x"]', ["x"]),
        ("float", "-2E5", -2e5),
        # what is not written as in Python is text
        ("str | None", "1:30", "1:30"),
    ],
)
def test_values_from_the_command_line(annotation, text, value):
    parsed = Parameter("p", annotation, None).parse(text)
    assert parsed == value and type(parsed) is type(value)


WRONG = {
    "int": ["3.5", "true", "1:30", "010", "7" * 5000, ""],
    "bool": ["1", "yes"],
    "float": [".nan", "inf", "1e400"],
    "list[int]": ["3", "[1, x]", "[1", "[" * 20000, "&a [*a]"],
    "list[float]": ["[1, 1e400]"],
}


@pytest.mark.parametrize(
    ("annotation", "text"), [(kind, text) for kind, texts in WRONG.items() for text in texts]
)
def test_values_of_the_wrong_type_are_refused(annotation, text):
    with pytest.raises(ParameterError, match="parameter p: ") as caught:
        Parameter("p", annotation, None).parse(text)
    assert len(str(caught.value)) < 300


def test_unknown_names_are_refused(project):
    parameters = read_parameters(project.source(project.write("p/a", parameters=CELL)))
    with pytest.raises(ParameterError, match=r"p/a has no parameter 'sed'. Did you mean 'seed'"):
        resolve("p/a", parameters, {"sed": 1})
    with pytest.raises(ParameterError, match=r"It has: profile \(str\), seed \(int\), sizes"):
        resolve("p/a", parameters, {"zzz": 1})
    values = resolve("p/a", parameters, {"seed": "7", "ridge": 1})
    assert values == {"profile": "quick", "seed": 7, "sizes": [1, 2], "ridge": 1.0}


TAGGED = '# %% tags=["parameters"]\n'
QUICK = TAGGED + 'profile: str = "quick"\n'


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", "p/a has 0 parameters cells"),
        (CELL + "\n" + CELL, "has 2 parameters cells"),
        (QUICK + "seed: int = 0  # default = 0", "second equals"),
        (QUICK + "seed = 0", "expected 'name: type = value'"),
        (QUICK + "seed: int = f(0)", "not a literal"),
        (QUICK + "seed: int = 0.5", "0.5 is not of type int"),
        (QUICK + "seed: tuple = 0", "type is not one of"),
        (QUICK + "sizes: list = [0]", "type is not one of"),
        (TAGGED + "seed: int = 0", "first parameter must be 'profile"),
        (TAGGED + 'profile: str = "full"', "first parameter must be 'profile"),
        (TAGGED + "profile: str = ", "expected 'name: type = value'"),
    ],
)
def test_malformed_parameters_cells_are_named(project, cell, message):
    source = project.source("p/a")
    source.parent.mkdir(parents=True)
    source.write_text(f"# %%\n1\n\n{cell}\n")
    with pytest.raises(NotebookError, match=message):
        read_parameters(source)


def test_code_is_python_without_magics(project):
    name = project.write("p/a", "%matplotlib inline\n!ls\nx = 1")
    code = notebook_code(project.source(name))
    assert "matplotlib" not in code and "ls" not in code.split("\n") and "x = 1" in code
