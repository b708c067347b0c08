"""Start Jupyter's libraries without the second and a half that they do not need."""

import sys

__all__ = ["skip_iri_grammar"]


def skip_iri_grammar() -> None:
    """Keep jsonschema from compiling its grammar of IRIs in this process.

    Where JupyterLab is installed, jsonschema, and with it nbformat, builds an Earley parser of
    RFC 3987 when it is imported: 1.4 s in every process. No notebook holds a field that it
    would check.
    """
    if "rfc3987_syntax" not in sys.modules:
        # None makes the import fail, which jsonschema is prepared for
        sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
