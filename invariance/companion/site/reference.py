"""The reference: pages that autodoc fills, and docstrings made fit for reStructuredText."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .nodes import python_link
from .uses import public

__all__ = ["pages", "setup"]

_BLOCK = re.compile(r"(\s*)(?:\.\. (?:math|code-block|testcode)::.*|.*[^:]::|>>> .*)$")
_SPANS = re.compile(r"(:\w+(?::\w+)?:`[^`]*`|``[^`]*``|`[^`]*`_?_?)")
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*\*?[A-Za-z][\w ,'-]*\*\*?)(?![\w*])")


def pages() -> Iterator[tuple[str, str]]:
    """Address and text of a page per module, with its functions, and of one per class."""
    for module, names in public().items():
        owner = import_module(module)
        classes = [name for name in names if isinstance(getattr(owner, name), type)]
        functions = [name for name in names if name not in classes]
        title = module.removeprefix("invariance.")
        text = f"{_headed(title)}.. automodule:: {module}\n   :no-members:\n\n"
        text += f".. autosummary::\n   :nosignatures:\n\n{_listed(names)}\n\n"
        for name in functions:
            text += (
                f"{_headed(name, '-')}.. autofunction:: {name}\n\n.. used-in:: {module}.{name}\n\n"
            )
        if classes:
            listed = _listed(f"/api/{module}.{name}" for name in classes)
            text += f".. toctree::\n   :hidden:\n\n{listed}\n"
        yield f"api/{module}", text
        for name in classes:
            yield (
                f"api/{module}.{name}",
                f"{_headed(name)}.. currentmodule:: {module}\n\n.. autoclass:: {name}\n"
                "   :members:\n   :inherited-members:\n\n"
                f".. used-in:: {module}.{name}\n",
            )


def _headed(title: str, line: str = "=") -> str:
    return f"{title}\n{line * len(title)}\n\n"


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"   {name}" for name in names)


def _escaped(lines: list[str]) -> Iterator[str]:
    """Bars, stars and underscores of plain text are themselves; code and formulas stay."""
    inside: int | None = None  # indentation of the line that a block of code hangs on
    example = False
    for line in lines:
        depth = len(line) - len(line.lstrip())
        example = line.strip().startswith(">>>") or (example and bool(line.strip()))
        if inside is not None and line.strip() and depth <= inside:
            inside = None
        if inside is None and not example:
            if (block := _BLOCK.fullmatch(line)) and not line.strip().startswith(">>>"):
                inside = len(block[1])
            if not line.strip().startswith(".. "):
                line = "".join(
                    part if index % 2 else _plain(part)
                    for index, part in enumerate(_SPANS.split(line))
                )
        yield line


def _plain(text: str) -> str:
    parts = _EMPHASIS.split(text)
    return "".join(
        part if index % 2 else re.sub(r"(?<!\\)([|*]|(?<=\w)_(?!\w))", r"\\\1", part)
        for index, part in enumerate(parts)
    )


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = list(_escaped(lines))


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Methods that scikit-learn and others bring are described there."""
    obj = getattr(obj, "fget", None) or getattr(obj, "__func__", None) or obj
    home = getattr(obj, "__module__", None) or "invariance"
    ours = home.split(".")[0] == "invariance" and not re.fullmatch(r"set_\w+_request", name)
    return None if ours else True


@cache
def _homes() -> dict[str, str]:
    """Full names by short ones, where only one module has it."""
    found: dict[str, list[str]] = {}
    for module, names in public().items():
        for name in names:
            found.setdefault(name, []).append(f"{module}.{name}")
    return {name: full[0] for name, full in found.items()}


def _name(role: str, raw: str, text: str, line: int, inliner: Any, *_: Any) -> tuple[list, list]:
    """A word between backquotes: a link where it names something public, else as it stands."""
    full = _homes().get(text.removesuffix("()").rpartition(".")[2])
    if full is None or text.startswith("."):
        return [nodes.literal(text, text)], []
    return [python_link(inliner.document.settings.env.current_document.docname, full)], []


def setup(app: Sphinx) -> None:
    app.add_role("name", _name)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-skip-member", _skip)
