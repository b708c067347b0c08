"""Run notebooks in headless Chromium as a reader does, and print what became of each.

    python tests/companion/lite/drive.py course/orbit mroueh2015/theorem1

Without names, all notebooks of ``build/lite`` (``invariance lite``) run one after another, each in
a new browser. A line names the notebook, how it ended, the seconds to its first figure and to its
end, its figures and the claims that it has judged. The status is 1 if one did not run to its end.
"""

import functools
import http.server
import sys
import threading
import time

from playwright.sync_api import sync_playwright

from invariance.companion.lite.notebooks import names_in
from invariance.companion.paths import Paths
from invariance.companion.site.build import find_chromium

_LONGEST = 600  # seconds for a notebook
_STATE = """() => {
  const panel = document.querySelector('iframe')?.contentWindow.jupyterapp?.shell?.currentWidget;
  const cells = [...(panel?.content?.model?.cells ?? [])].filter(cell => cell.type === 'code');
  const outputs = cells.flatMap(cell => cell.toJSON().outputs);
  const recorded = outputs.map(output => output.metadata?.invariance ?? {});
  return {
    ended: document.body.dataset.state ?? '',
    figures: outputs.filter(output => output.data?.['image/png']).length,
    claims: recorded.filter(entry => entry.claim).map(entry => entry.claim),
    errors: outputs.filter(output => output.output_type === 'error')
      .map(output => `${output.ename}: ${output.evalue}`),
  };
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def run(browser, address: str, name: str) -> bool:
    """Run a notebook in a new context of the browser, and return whether it ran to its end."""
    context = browser.new_context()
    elsewhere: list[str] = []

    def only_ours(route) -> None:
        if route.request.url.startswith(address):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    context.route("**/*", only_ours)
    page = context.new_page()
    start = time.monotonic()
    page.goto(f"{address}run.html?notebook={name}")
    first_figure = None
    while True:
        state = page.evaluate(_STATE)
        seconds = time.monotonic() - start
        if state["figures"] and first_figure is None:
            first_figure = seconds
        if state["ended"] or seconds > _LONGEST:
            break
        page.wait_for_timeout(250)
    context.close()
    ended = state["ended"] or "too long"
    figure = "no figure" if first_figure is None else f"first figure {first_figure:.0f} s"
    claims = ", ".join(state["claims"]) or "no claims"
    print(f"{name}: {ended}, {figure}, end {seconds:.0f} s, {state['figures']} figures; {claims}")
    for problem in [*state["errors"], *(f"asked for {url}" for url in elsewhere)]:
        print(f"    {problem}")
    sys.stdout.flush()
    return ended == "finished" and not elsewhere


def main(names: list[str]) -> int:
    folder = Paths.find().lite
    names = names or sorted(names_in(folder))
    handler = functools.partial(_Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=options)
        results = [run(browser, address, name) for name in names]
        browser.close()
    print(f"{sum(results)} of {len(results)} notebooks ran to their end")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
