"""Run axe-core over every page of the site: `accessibility.py AXE [SITE] [PATTERN ...]`.

AXE is a path to `axe.min.js` (npm's package `axe-core`), SITE a folder that `make site` has written
(default: `build/report`), and a pattern such as `claims/*.html` limits the pages. Each page is
checked at a desk in the light and in the dark, and on a phone, 375 pixels wide; in the dark only
the rules about colours, since nothing else differs. The report counts elements and pages by rule,
and quotes one element per page. Some 490 pages take a quarter of an hour on an idle core. The exit
status is 1 if a rule is violated.
"""

import sys
from collections import defaultdict
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from invariance.companion.site.build import find_chromium

#: Width, colour scheme, and the rules that are run; all of them if none is named.
SETTINGS = {
    "desk, light": (1280, "light", []),
    "desk, dark": (1280, "dark", ["color-contrast", "link-in-text-block"]),
    "phone": (375, "light", []),
}
#: Seconds for a page to show its formulas.
PATIENCE_S = 600
N_QUOTED = 3

RUN = """async (rules) => {
  await window.MathJax?.startup?.promise;
  const options = { resultTypes: ['violations'], preload: false };
  if (rules.length) options.runOnly = { type: 'rule', values: rules };
  const result = await axe.run(options);
  return result.violations.map(rule => [rule.id, rule.nodes.map(node => node.html.slice(0, 200))]);
}"""

Violations = dict[str, dict[str, dict[str, list[str]]]]


def check(page: Page, site: Path, paths: list[Path], axe: str) -> Violations:
    """Return the elements that violate a rule, by setting, rule and page."""
    violations: Violations = {name: defaultdict(dict) for name in SETTINGS}
    for count, path in enumerate(paths, start=1):
        name = path.relative_to(site).as_posix()
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate(f"{axe}; 0")
        for setting, (width, scheme, rules) in SETTINGS.items():
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(f"document.documentElement.dataset.theme == '{scheme}'")
            for rule, elements in page.evaluate(RUN, rules):
                violations[setting][rule][name] = elements
                print(f"{name} ({setting}): {rule}: {elements[0]}", flush=True)
        if count % 20 == 0:
            print(f"{count} of {len(paths)} pages", flush=True)
    return violations


def summary(violations: Violations) -> str:
    """Return a line per setting and rule: how many elements on how many pages, and examples."""
    lines = []
    for setting, rules in violations.items():
        if not rules:
            lines.append(f"{setting}: no violation")
        for rule, pages in rules.items():
            n_elements = sum(len(elements) for elements in pages.values())
            lines.append(f"{setting}: {rule}: {n_elements} elements on {len(pages)} pages")
            for name, elements in list(pages.items())[:N_QUOTED]:
                lines.append(f"    {name}: {elements[0]}")
    return "\n".join(lines)


def main() -> int:
    axe = Path(sys.argv[1]).read_text("utf-8")
    site = Path(sys.argv[2] if len(sys.argv) > 2 else "build/report").resolve()
    patterns = sys.argv[3:] or ["**/*.html"]
    found = {path for pattern in patterns for path in site.glob(pattern)}
    paths = [path for path in sorted(found) if "lite" not in path.parts]
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        context = browser.new_context(reduced_motion="reduce")
        page = context.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        violations = check(page, site, paths, axe)
        browser.close()
    print(f"{len(paths)} pages\n{summary(violations)}")
    return int(any(violations.values()))


if __name__ == "__main__":
    sys.exit(main())
