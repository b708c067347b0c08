"""Notebooks and results that are damaged or hostile: each is a problem of its own."""

import base64
import json
import struct
import zlib

from invariance.companion.paths import Paths

from .conftest import NOTEBOOK, claim, code_cell, executed, shown, write_results

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> & \"quoted\""
CUNNING = (
    "<![CDATA[<script>alert(2)</script>]]><![if !IE]><script>alert(3)</script><![endif]>"
    '<svg/onload=alert(4)>"><script>alert(5)</script>'
)
EVIL = HOSTILE + CUNNING


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


#: A picture of 100,000 by 100,000 pixels in a hundred bytes.
HUGE = b"\x89PNG\r\n\x1a\n" + b"".join([
    _chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)),
    _chunk(b"IDAT", zlib.compress(b"\0" * 100)), _chunk(b"IEND", b""),
])  # fmt: skip


#: The text that the page of a damaged notebook must contain, and the damaged files.
DAMAGE: dict[str, tuple[str, dict[str, str | bytes]]] = {
    "truncated": ("damaged", {"executed.ipynb": executed(code_cell("x = 1"))[:60]}),
    "cells": ("cells[0] must be object", {"executed.ipynb": executed("no cell", 3)}),
    "latin": ("latin.py cannot be read", {}),
    "status": ("it must be object", {"status.json": "[1]"}),
    "claims": ("claims must be object", {}),
    "noverdict": ("claims.raj2017/fig1 must be object", {}),
    "results": ("results.json: not readable as results", {"results.json": '{"claims": '}),
    "deep": ("results.json: not readable as results", {"results.json": "[" * 200_000}),
    "huge": ("figure accuracy: not a PNG picture, or too large a one", {"accuracy.png": HUGE}),
    "output": ("a picture in an output", {"executed.ipynb": executed(
        code_cell("p", shown({"image/png": base64.b64encode(HUGE).decode()})))}),
    "table": ("scores.csv cannot be read", {"scores.csv": b"\xff\xfe\x00"}),
    "folder": ("no file accuracy.png", {}),
    "failed": ("RuntimeError", {"status.json": json.dumps({"status": "failed", "failure": {
        "message": f"RuntimeError: {EVIL}", "cell_source": EVIL}})}),
}  # fmt: skip

#: Texts that Jupytext cannot read, and the words that their pages must contain.
UNREADABLE = {
    "tagtext": ('# %% [markdown]\n# # A\n\n# %% tags="x"\n1\n', """line 4, '# %% tags="x"'"""),
    "tagnumber": ("# %% tags=3\n1\n", "line 1, '# %% tags=3'"),
    "tagnumbers": ("# %%\n1\n\n#%% tags=[1]\n1\n", "line 4, '#%% tags=[1]'"),
    "tagmap": ('# %% {"tags": {"a": 1}}\n1\n', "line 1, "),
    "celllanguage": ("# %% language=3\n1\n", "line 1, '# %% language=3'"),
    "kernelname": ("# ---\n# jupyter:\n#   kernelspec: x\n# ---\n\n# %%\n1\n", "its header"),
    "emptyheader": ("# ---\n# jupyter:\n# ---\n\n# %%\n1\n", "its header"),
}
#: Odd headers, which are read: as prose, or not at all.
ODD = {
    "listheader": "# ---\n# - a\n# ---\n\n# %%\n1\n",
    "yamlheader": "# ---\n# jupyter: {\n# ---\n\n# %%\n1\n",
    "noend": "# ---\n# jupyter:\n\n# %%\n1\n",
    "idnumber": '# %% id="a b" slideshow=3\n1\n',
}


def spoil(paths: Paths) -> dict[str, str]:
    """Write a notebook for each kind of damage; return the text that its page must contain."""
    claims = {"claims": [1], "noverdict": {"raj2017/fig1": [1]}}
    for name, (_, files) in DAMAGE.items():
        source, folder = paths.source(f"raj2017/{name}"), paths.output(f"raj2017/{name}", "quick")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(NOTEBOOK.format(title=f"The one called {name}"), "utf-8")
        write_results(folder, f"raj2017/{name}", "quick", claims.get(name, {}))
        for file, content in files.items():
            (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
    paths.source("raj2017/latin").write_bytes("# %% [markdown]\n# # Schölkopf".encode("latin-1"))
    marked = paths.source("liu2022/few_samples")
    marked.write_text(marked.read_text("utf-8"), encoding="utf-8-sig")
    (folder.with_name("folder") / "accuracy.png").unlink()
    (folder.with_name("folder") / "accuracy.png").mkdir()
    folder.with_name("folder.html").mkdir()  # a folder named like a page
    for name, (text, _) in UNREADABLE.items():
        paths.source(f"raj2017/{name}").write_text(text, "utf-8")
    for name, text in ODD.items():
        paths.source(f"guides/{name}").write_text(text, "utf-8")
    damaged = {f"raj2017/{name}": complaint for name, (complaint, _) in DAMAGE.items()}
    return damaged | {f"raj2017/{name}": complaint for name, (_, complaint) in UNREADABLE.items()}


def attack(paths: Paths) -> None:
    """Markup in every place that takes text."""
    name = "soleymani2025/attack"
    paths.source(name).parent.mkdir(parents=True, exist_ok=True)
    body = NOTEBOOK.format(title=EVIL)
    body += f"\n# %% [markdown]\n# ## {EVIL}\n# {EVIL}\n#\n# [here](javascript:alert(6))\n"
    body += "# ```{raw} html\n# <script>alert(7)</script>\n# ```\n"
    body += "#\n# ```{eval-rst}\n# .. raw:: html\n#\n#    <script>alert(8)</script>\n# ```\n"
    body += "#\n# $\\href{javascript:alert(9)}{x}$\n"
    paths.source(name).write_text(body, "utf-8")
    claims = {
        "soleymani2025/weyl-law": claim("violated", EVIL, note=EVIL, reason=EVIL, data=EVIL),
        EVIL: claim("matched", EVIL),
        "soleymani2025/example5.2": claim(EVIL, "1"),
    }
    folder = paths.published(name)
    write_results(folder, name, "full", claims)
    content = json.loads((folder / "results.json").read_text("utf-8"))
    content["figures"][0] |= {"alt": EVIL, "caption": EVIL + " $\\href{javascript:alert(1)}{a}$"}
    content["tables"][0]["caption"] = EVIL
    content["tables"].append({"name": EVIL, "file": "x.csv", "caption": EVIL})
    content["says"] = [{"text": EVIL, "said": EVIL}, {"text": "x", "said": "[a](javascript:b)"}]
    content["provenance"] |= {"code": EVIL, "packages": {EVIL: EVIL}}
    content["volatile"]["hardware"] = {EVIL: EVIL}
    (folder / "results.json").write_text(json.dumps(content), "utf-8")
    (folder / "scores.csv").write_text(f'"{EVIL.replace(chr(34), chr(34) * 2)}",b\n1,2\n', "utf-8")
    html = {"text/html": f"<table><tr><td>{EVIL}</td></tr></table>{EVIL}", "text/plain": EVIL}
    error = {"output_type": "error", "ename": "E", "evalue": EVIL, "traceback": [EVIL]}
    stream = {"output_type": "stream", "name": "stdout", "text": EVIL}
    evil = paths.output("soleymani2025/evil", "quick")
    write_results(evil, "soleymani2025/evil", "quick", {})
    (evil / "executed.ipynb").write_text(executed(
        {"cell_type": "markdown", "metadata": {}, "source": f"# {EVIL}\n\n{EVIL}"},
        code_cell(EVIL, stream, error, shown(html), shown({"text/html": EVIL, "text/plain": EVIL}),
                  shown({"image/svg+xml": EVIL, "text/plain": EVIL}),
                  shown({"text/markdown": f"{EVIL} [x](javascript:alert(1))"}),
                  shown({"application/javascript": "alert(1)"}), shown({"text/latex": EVIL})),
    ), "utf-8")  # fmt: skip
    # a cell that the compiler cannot take: it ended the whole report once
    minus = "guides/minus"
    paths.source(minus).write_text(
        "# %% [markdown]\n# # Minus\n\n# %%\nx = " + "-" * 20_000 + "1\n", "utf-8"
    )
