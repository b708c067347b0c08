// How the search ranks: a title that holds the words as they were typed comes first, and a page
// before an object whose name merely contains them. Sphinx leaves numbers out of a search.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const words = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
    const name = title.toLowerCase();
    const at = words ? name.indexOf(words) : -1;
    const whole =
      at >= 0 && !/\w$/.test(name.slice(0, at)) && !/^(\w|\.\d)/.test(name.slice(at + words.length));
    if (whole) return score + (at === 0 ? 40 : 20);
    const lists = ["claims/index", "claims/ledger", "claims/failures"];
    if (lists.includes(page)) return score - 30; // they hold every word of every claim
    return page.startsWith("api/") ? score - 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 1,
  objPrio: { 0: 1, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
