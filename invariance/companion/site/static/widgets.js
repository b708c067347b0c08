// Moves the drawings: a slider, and a button that lets it run. All positions were drawn in advance.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.widget")) {
    const { moves, says } = JSON.parse(figure.querySelector("script").textContent);
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
      output.textContent = says[slider.value];
      slider.setAttribute("aria-label", says[slider.value]);
    };
    const step = () => {
      slider.value = (Number(slider.value) + 1) % says.length;
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

// A field above a long table: rows without its words are hidden.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".filtered")) {
    const field = document.createElement("input");
    Object.assign(field, { className: "filter", type: "search", placeholder: "Filter" });
    field.setAttribute("aria-label", "Show the rows that hold these words");
    box.before(field);
    const rows = [...box.querySelectorAll("tbody tr")];
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }
});
