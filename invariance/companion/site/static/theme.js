// Dark or light, as chosen on another page or by the system, before anything is drawn; the search field and the button of the header.
{
  const root = document.documentElement.dataset;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const modes = ["auto", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem("mode");
    } catch {
      return null;
    }
  };
  let chosen = read();
  const follow = () => {
    const bySystem = dark.matches ? "dark" : "light";
    root.theme = ["dark", "light"].includes(chosen) ? chosen : bySystem;
  };
  dark.addEventListener("change", follow);
  follow();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("mode");
    const field = document.querySelector("header.plain input");
    if (!button || !field) return;
    button.hidden = false;
    const label = () => (button.title = `Color mode: ${chosen || "auto"}`);
    button.addEventListener("click", () => {
      chosen = modes[(modes.indexOf(chosen || "auto") + 1) % modes.length];
      follow();
      label();
      try {
        localStorage.setItem("mode", chosen);
        localStorage.setItem("theme", root.theme);
      } catch {
        // the choice holds for this page
      }
    });
    label();
    addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      field.focus();
    });
  });
}
