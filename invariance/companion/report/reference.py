"""`reference_pages`: the package's public names with their docstrings, as pages of the report.

pdoc finds the members and splits numpydoc's sections; what stands here renders them with the
report's own Markdown, formulas and templates, so that nothing is fetched and nothing is run.
"""

import html
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import pdoc.doc
from markupsafe import Markup
from pdoc.docstrings import numpy as split_sections

from invariance.companion.report.prose import Problem, Prose

__all__ = ["MODULES", "Entry", "ReferencePage", "reference_pages"]

#: What is documented, from the ground up.
MODULES = (
    "invariance.groups", "invariance.kernels", "invariance.features", "invariance.spectral",
    "invariance.linear", "invariance.theory.mroueh2015", "invariance.theory.raj2017",
    "invariance.theory.liu2022", "invariance.theory.soleymani2025", "invariance.datasets",
    "invariance.companion.notebook.run", "invariance.companion.notebook.style",
    "invariance.companion.runner.places",
    "invariance.parallel", "invariance.evaluation.means", "invariance.evaluation.rates",
)  # fmt: skip

# made by scikit-learn for the routing of metadata, the same in every estimator
_ROUTING = re.compile(r"set_\w+_request")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$)", re.DOTALL | re.MULTILINE)


@dataclass
class Entry:
    """A class, function or method: anchor, signature and what its docstring says."""

    name: str
    anchor: str
    signature: str
    summary: Markup
    body: Markup
    members: list["Entry"] = field(default_factory=list)


@dataclass
class ReferencePage:
    """A module's page: name without the package, address below ``reference/``, entries."""

    module: str
    address: str
    summary: Markup
    body: Markup
    entries: list[Entry]
    problems: list[Problem]


@cache
def reference_pages() -> tuple[ReferencePage, ...]:
    """One page a module of `MODULES`; rendered once a process, since the code does not change."""
    modules = {name: pdoc.doc.Module(import_module(name)) for name in MODULES}
    homes = {
        member.name: f"{name.removeprefix('invariance.')}.html#{member.name}"
        for name, module in modules.items()
        for member in _public(module)
    }
    return tuple(_page(name, module, homes) for name, module in modules.items())


def _page(name: str, module: pdoc.doc.Module, homes: dict[str, str]) -> ReferencePage:
    short = name.removeprefix("invariance.")
    prose = Prose(f"reference/{short}")
    summary, body = _rendered(module.docstring, prose, short, homes)
    entries = [_entry(member, prose, homes) for member in _public(module)]
    return ReferencePage(name, f"{short}.html", summary, body, entries, prose.problems)


def _public(module: pdoc.doc.Module) -> list[pdoc.doc.Doc]:
    # a name without a docstring of its own (an alias, a constant) has nothing to show
    members = [module.members[name] for name in module.obj.__all__ if name in module.members]
    return [m for m in members if m.kind in ("class", "function") and m.docstring]


def _entry(doc: pdoc.doc.Doc, prose: Prose, homes: dict[str, str]) -> Entry:
    summary, body = _rendered(doc.docstring, prose, doc.qualname, homes)
    members = []
    if doc.kind == "class":
        members = [_entry(member, prose, homes) for member in _methods(doc, homes)]
    return Entry(doc.name, doc.qualname, _signature(doc), summary, body, members)


def _methods(cls: pdoc.doc.Class, homes: dict[str, str]) -> Iterator[pdoc.doc.Doc]:
    """A class's own methods and properties, and those of bases that have no section to look at."""
    for member in cls.members.values():
        module, owner = member.taken_from[0], member.taken_from[1].split(".")[0]
        if owner != cls.name and (not module.startswith("invariance.") or owner in homes):
            continue
        if member.name.startswith("_") or _ROUTING.fullmatch(member.name) or not member.docstring:
            continue
        if member.kind == "function" or isinstance(getattr(cls.obj, member.name, None), property):
            yield member


class _Written(str):
    """An annotation that prints as it was written."""

    def __repr__(self) -> str:
        return str(self)


def _signature(doc: pdoc.doc.Doc) -> str:
    """``Name(parameters) -> result`` with annotations as they stand in the source."""
    if doc.kind == "variable":
        return doc.name
    target: Any = doc.obj
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return doc.name
    parameters = [
        p.replace(annotation=_Written(p.annotation)) if isinstance(p.annotation, str) else p
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    result = signature.return_annotation
    if isinstance(result, str):
        result = _Written(result) if doc.kind == "function" else inspect.Signature.empty
    return f"{doc.name}{signature.replace(parameters=parameters, return_annotation=result)}"


def _rendered(
    docstring: str, prose: Prose, where: str, homes: dict[str, str]
) -> tuple[Markup, Markup]:
    """First sentence and the rest of a docstring as HTML."""
    first, _, rest = to_markdown(docstring).partition("\n\n")
    pages = [_linked(prose.html(text, where), homes) for text in (first, rest)]
    summary = re.sub(r"^\s*<p>(.*)</p>\s*$", r"\1", pages[0], flags=re.DOTALL)
    return Markup(summary), Markup(pages[1])


def to_markdown(docstring: str) -> str:
    r"""A numpydoc docstring as Markdown with formulas between dollar signs.

    >>> to_markdown("Of <x, z> and :math:`x_1`, see ``f``.")
    'Of &lt;x, z&gt; and $x_1$, see `f`.'
    """
    text = split_sections(docstring)
    text = re.sub(r"^###### (.+)\n", r"\n**\1**\n\n", text, flags=re.MULTILINE)
    text = re.sub(
        r"^( *)\.\. math::(.*(?:\n\1 +\S.*)*)",
        lambda m: f"\n{m[1]}$${m[2].strip()}$$\n",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r":math:`(.+?)`", r"$\1$", text, flags=re.DOTALL)
    text = re.sub(r"::[ \t]*$", ":", text, flags=re.MULTILINE).replace("``", "`")
    text = re.sub(r"\):\n(?=\s*(\n|$| - ))", ")\n", text)
    text = re.sub(
        r"^( *)(>>> .*(?:\n\1\S.*)*)", r"\1```python\n\1\2\n\1```", text, flags=re.MULTILINE
    )
    parts = _CODE.split(text)
    parts[::2] = (html.escape(part, quote=False) for part in parts[::2])
    return "".join(parts)


def _linked(page: str, homes: dict[str, str]) -> str:
    """Code that is a documented name leads to it."""

    def link(match: re.Match[str]) -> str:
        home = homes.get(match[1].rstrip("()"))
        return f'<a href="{home}">{match[0]}</a>' if home else match[0]

    return re.sub(r"<code>([\w.]+(?:\(\))?)</code>", link, page)
