"""What a project says of its papers, pages and methods: ``notebooks/papers.yml``."""

from typing import Any

from ..errors import LedgerError, hint
from ..files import read_yaml
from ..paths import Paths

#: The keys and what is taken where one is missing: texts in Markdown, and what they are about.
_DEFAULTS: dict[str, Any] = {
    "name": "companion", "title": "Results", "text": "", "idea": "", "after": "",
    "repository": "", "doors": [], "papers": {}, "sections": {}, "pages": {}, "reference": [],
    "tasks": {}, "costs": {}, "findings": [], "glossary": {}, "statements": {}, "ideas": {},
    "pictures": {}, "methods": {}, "aliases": {},
}  # fmt: skip


def read_papers(paths: Paths) -> dict[str, Any]:
    """The project's own words, plain ones where it has none; `LedgerError` for malformed ones."""
    content = read_yaml(paths.papers) if paths.papers.exists() else {}
    where = f"{paths.papers}"
    if not isinstance(content, dict):
        content = {} if content is None else {"the whole": content}
    for key, value in content.items():
        if key not in _DEFAULTS:
            raise LedgerError(f"{where}: unknown key {key!r}. {hint(str(key), _DEFAULTS, 'keys')}")
        if not isinstance(value, type(_DEFAULTS[key])):
            raise LedgerError(f"{where}: {key}: {value!r:.60} is of the wrong kind")
    for key in ("papers", "sections"):
        for name, entry in content.get(key, {}).items():
            if not isinstance(entry, dict):
                raise LedgerError(f"{where}: {key}: {name}: {entry!r:.60} is no mapping")
    return _DEFAULTS | content
