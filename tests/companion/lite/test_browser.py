"""Notebooks in headless Chromium, from a static server; every other address is blocked."""

import functools
import http.server
import threading
import time
from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.notebooks]

_LONGEST = 240_000  # milliseconds on a busy machine; an idle one takes a tenth
#: The texts, pictures and errors in the outputs of all cells.
OUTPUTS = """() => {
  const panel = document.querySelector('iframe').contentWindow.jupyterapp.shell.currentWidget;
  const cells = [...panel.content.model.cells].filter(cell => cell.type === 'code');
  const outputs = cells.flatMap(cell => cell.toJSON().outputs);
  return {
    text: outputs.map(output => [output.text ?? ''].flat().join('')).join(''),
    figures: outputs.filter(output => output.data?.['image/png']).length,
    errors: outputs.filter(output => output.output_type === 'error').map(o => o.evalue),
  };
}"""
#: Run code in the kernel of the open notebook, and return its output.
RUN = """async code => {
  const panel = document.querySelector('iframe').contentWindow.jupyterapp.shell.currentWidget;
  const future = panel.sessionContext.session.kernel.requestExecute({code});
  let printed = '';
  future.onIOPub = message => {
    printed += message.content.text ?? message.content.evalue ?? '';
  };
  await future.done;
  return printed;
}"""


@pytest.fixture(scope="module")
def server(served):
    """The address of the folder, and the names of the files that were asked for."""
    requested: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requested.append(self.path)

    handler = functools.partial(Handler, directory=served)
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield SimpleNamespace(address=f"http://127.0.0.1:{made.server_port}/", requested=requested)
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def lesson(browser, server):
    """The first lesson after all its cells have run, and the blocked requests."""
    context = browser.new_context()
    blocked: list[str] = []

    def only_ours(route) -> None:
        if route.request.url.startswith(server.address):
            route.continue_()
        else:
            blocked.append(route.request.url)
            route.abort()

    context.route("**/*", only_ours)
    page = context.new_page()
    page.goto(f"{server.address}run.html?notebook=course/orbit")
    page.wait_for_function("() => document.body.dataset.state", timeout=_LONGEST)
    yield SimpleNamespace(page=page, blocked=blocked)
    context.close()


@pytest.mark.timeout(600)
def test_a_lesson_runs_to_its_end_without_a_request_to_anywhere_else(lesson):
    outputs = lesson.page.evaluate(OUTPUTS)
    assert outputs["errors"] == [] and outputs["figures"] == 2
    assert outputs["text"].count("Not answered yet.") == 3
    assert lesson.page.locator("#state").inner_text().startswith("Finished")
    assert lesson.blocked == []


@pytest.mark.timeout(600)
def test_a_slider_changes_the_picture(lesson):
    notebook = lesson.page.frame_locator("iframe")
    picture = notebook.locator(".widget-output img").first
    number = notebook.locator(".widget-readout").first
    before = picture.get_attribute("src"), number.inner_text()
    handle = notebook.locator(".widget-slider .noUi-handle").first
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    lesson.page.mouse.move(x, y)
    lesson.page.mouse.down()
    lesson.page.mouse.move(x + 30, y, steps=4)
    lesson.page.mouse.up()
    deadline = time.monotonic() + _LONGEST / 1000
    while picture.get_attribute("src") == before[0]:
        assert time.monotonic() < deadline
        lesson.page.wait_for_timeout(200)
    assert int(number.inner_text()) > int(before[1])


@pytest.mark.timeout(600)
def test_an_exercise_checks_itself(lesson):
    code = """
def orbit_size(reading):
    return len({tuple(np.roll(reading, steps)) for steps in range(6)})
check([1, 2, 3, 1, 2, 3], lambda reading: orbit_size(reading) == 3, "repeat")
check([1, 1, 1, 1, 1, 1], lambda reading: orbit_size(reading) == 3, "repeat")
"""
    assert lesson.page.evaluate(RUN, code) == "Right.\nNot yet: repeat.\n"


@pytest.mark.timeout(600)
def test_all_orders_of_thirty_things_are_averaged_exactly(lesson):
    code = """
from invariance.groups import Permutations
from invariance.spectral import SpectralAveraging, Sphere
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 30))
X /= np.linalg.norm(X, axis=1, keepdims=True)
model = SpectralAveraging(Sphere(30), Permutations(30), degree=2).fit(X, X.sum(1) ** 2)
values = model.predict(X)
moved = model.predict(X[:, rng.permutation(30)])
print(abs(moved - values).max() < 1e-12 * abs(values).max(), np.ptp(values) > 0.1)
"""
    assert lesson.page.evaluate(RUN, code) == "True True\n"


@pytest.mark.timeout(600)
def test_each_element_of_a_group_is_listed_once_with_indices_of_32_bits(lesson):
    code = """
from invariance.groups import TorusTranslations
print(len(TorusTranslations([3, 2]).elements()))
"""
    assert lesson.page.evaluate(RUN, code) == "6\n"


@pytest.mark.timeout(600)
def test_claims_are_judged(lesson):
    code = """
run = Run("mroueh2015/theorem1", profile="quick")
print(run.claim("mroueh2015/theorem1-psd", difference=0.0, tolerance=1e-9).verdict)
"""
    assert lesson.page.evaluate(RUN, code).endswith("matched\n")


def test_a_page_opened_from_disk_explains_what_to_do(browser, served):
    page = browser.new_page()
    page.goto((served / "run.html").as_uri() + "?notebook=course/orbit")
    text = page.locator("main:visible").inner_text()
    assert "needs a web server" in text and "python -m http.server" in text
    assert page.locator("#address").get_attribute("href").endswith("/course/orbit.html")
    assert page.locator("iframe").count() == 0
    page.close()


@pytest.mark.parametrize("notebook", ["", "nothing", "../../etc", "javascript:alert(1)//a"])
def test_other_names_open_nothing(browser, server, notebook):
    page = browser.new_page()
    page.goto(f"{server.address}run.html?notebook={notebook}")
    assert "No such notebook" in page.locator("main:visible").inner_text()
    assert page.locator("iframe").count() == 0
    page.close()
