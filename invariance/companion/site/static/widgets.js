// Moves the drawings by a slider, or by a button that moves the slider. All positions were drawn in advance.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.widget")) {
    const { moves, labels } = JSON.parse(figure.querySelector("script").textContent);
    const find = (name) => figure.querySelector(name);
    const [slider, button, output] = ["input", "button", "output"].map(find);
    const parts = [...figure.querySelectorAll("[data-move]")];
    let timer = null;

    const show = () => {
      for (const part of parts) {
        for (const [name, values] of Object.entries(moves[part.dataset.move])) {
          if (name === "text") part.textContent = values[slider.value];
          else part.setAttribute(name, values[slider.value]);
        }
      }
      output.textContent = labels[slider.value];
      slider.setAttribute("aria-label", labels[slider.value]);
    };
    const step = () => {
      slider.value = (Number(slider.value) + 1) % labels.length;
      show();
    };
    const play = (on) => {
      clearInterval(timer);
      timer = on ? setInterval(step, 250) : null;
      button.textContent = on ? "Pause" : "Play";
    };

    slider.addEventListener("input", () => (play(false), show()));
    button.addEventListener("click", () => play(!timer));
    find(".controls").hidden = false;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    play(figure.hasAttribute("data-plays") && !still);
  }
});

// Filters above a table of claims: one choice for each attribute of its rows, and a search field.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".filtered")) {
    const rows = [...box.nextElementSibling.querySelectorAll("tbody tr")];
    const chosen = box.dataset.by.split(" ").map((name) => {
      const select = document.createElement("select");
      const values = [...new Set(rows.map((row) => row.dataset[name]))].filter(Boolean).sort();
      select.append(new Option(`any ${name === "weak" ? "test" : name}`, ""));
      for (const value of values) select.append(new Option(value, value));
      select.setAttribute("aria-label", name);
      return [name, select];
    });
    const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "words" });
    field.setAttribute("aria-label", "Show the claims that hold these words");
    const count = document.createElement("output");
    box.append(...chosen.map(([, select]) => select), field, count);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, i) => {
        const fits = chosen.every(([name, { value }]) => !value || row.dataset[name] === value);
        row.hidden = !fits || !words.every((word) => texts[i].includes(word));
      });
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    // The filter is kept in the address, so that a reader can send it.
    const fields = [...chosen, ["words", field]];
    const keep = () => {
      const used = fields.filter(([, { value }]) => value).map(([name, { value }]) => [name, value]);
      history.replaceState(null, "", `#${new URLSearchParams(used)}`);
    };
    const read = () => {
      const filter = new URLSearchParams(location.hash.slice(1));
      if (!fields.some(([name]) => filter.has(name))) return;
      for (const [name, input] of fields) input.value = filter.get(name) || "";
    };
    box.addEventListener("input", () => (show(), keep()));
    addEventListener("hashchange", () => (read(), show()));
    read();
    show();
  }
});

// Explains the first occurrence of each glossary term on a page, in a tooltip.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector(".bd-article");
  const skipped = "a, code, pre, h1, h2, h3, dt, abbr, svg, script, summary, .math, .chart, .dots";
  if (!article || typeof glossary === "undefined") return;
  const left = new Map(Object.entries(glossary));
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (let text of texts) {
    if (text.parentElement.closest(skipped)) continue;
    for (const [term, words] of left) {
      const match = new RegExp(`(?<![\\w-])${term}(?![\\w-])`, "i").exec(text.data);
      if (!match) continue;
      const rest = text.splitText(match.index);
      const after = rest.splitText(match[0].length);
      const mark = Object.assign(document.createElement("abbr"), { textContent: rest.data, tabIndex: 0 });
      mark.dataset.meaning = words;
      mark.setAttribute("aria-description", words);
      rest.replaceWith(mark);
      left.delete(term);
      text = after;
    }
  }
});

// Pages are printed in light colours, also from a dark screen.
{
  const page = document.documentElement.dataset;
  let screen = page.theme;
  addEventListener("beforeprint", () => {
    screen = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => (page.theme = screen));
}

// Formulas, tables and code that are wider than the page scroll, also by keyboard.
{
  const reach = () => {
    for (const box of document.querySelectorAll("mjx-container, .scroll, pre")) {
      const hidden = box.scrollWidth - box.clientWidth;
      if (hidden > (box.tagName === "PRE" ? 0 : 12)) box.tabIndex = 0; // of a formula, a letter or more
      else box.removeAttribute("tabindex");
    }
  };
  const reachAll = () => (reach(), window.MathJax?.startup?.promise?.then(reach));
  addEventListener("load", reachAll);
  addEventListener("resize", reach);
}
