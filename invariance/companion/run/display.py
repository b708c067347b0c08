"""Output of a cell: displayed in Jupyter, printed anywhere else."""

import sys
from typing import Any


def shell() -> Any | None:
    """Return the running IPython shell, or None."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def show(
    bundle: dict[str, str], metadata: dict[str, str] | None = None, alt: str | None = None
) -> None:
    """Display a MIME bundle, or print its plain text if no notebook runs.

    `metadata` is stored with the output under the key ``invariance``, for the site; `alt` is the
    alternative text of a picture.
    """
    if shell() is None:
        print(bundle["text/plain"])
        return
    from IPython.display import display

    output_metadata: dict[str, Any] = {}
    if metadata:
        output_metadata["invariance"] = metadata
    if alt:
        output_metadata["image/png"] = {"alt": alt}
    display(bundle, raw=True, metadata=output_metadata)


def show_markdown(text: str, metadata: dict[str, str] | None = None) -> None:
    """Display a Markdown text; an empty one is skipped."""
    if text:
        show({"text/markdown": text, "text/plain": text}, metadata)
