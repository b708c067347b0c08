// dark or light, as chosen on another page or by the system, before anything is drawn
const dark = matchMedia("(prefers-color-scheme: dark)");
const chosen = (() => { try { return localStorage.getItem("mode"); } catch { return null; } })();
const follow = () => { document.documentElement.dataset.theme = ["dark", "light"].includes(chosen) ? chosen : dark.matches ? "dark" : "light"; };
dark.addEventListener("change", follow); follow();
