// How the search ranks. A page or a public name is found by any of the words; rare words count more,
// words of titles and of the search entries (papers.yml, docstrings) count more still. A title that
// holds the words as they were typed comes first.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const words = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
    const name = title.toLowerCase();
    const at = words ? name.indexOf(words) : -1;
    const whole =
      at >= 0 && !/\w$/.test(name.slice(0, at)) && !/^(\w|\.\d)/.test(name.slice(at + words.length));
    const isObject = kind === "object";
    if (whole) return score + (at === 0 || isObject ? 40 : 20);
    return isObject ? score - 4 : score;
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

// Factors of a page's score by the start of its name, the first that fits.
const PAGE_FACTORS = [
  [/^claims\/(index|ledger|failures|errata|tables|figures)$/, 0.4], // they hold words of every claim
  [/^(changelog|contributing|costs|about)$/, 0.5],
  [/^(guides|install|cite|cheatsheet)/, 1.3],
  [/^(course|compare)/, 1.1],
  [/^claims/, 0.8],
  [/^code/, 0.4],
];
const PAGE_WEIGHTS = { text: 1, title: 3, entry: 4, partOfName: 1.5, startsWith: 0.5 };

const pageFactor = (page) => (PAGE_FACTORS.find(([start]) => start.test(page)) || [null, 1])[1];
const asList = (record) => (record === undefined ? [] : [].concat(record));

// The files that hold a stemmed word; without any, those that hold a longer word which starts so.
const filesWith = (word, index) => {
  if (Object.hasOwn(index, word)) return [asList(index[word]), 1];
  if (word.length < 4) return [[], 1];
  const longer = Object.keys(index).filter((term) => term.startsWith(word));
  return [longer.flatMap((term) => asList(index[term])), PAGE_WEIGHTS.startsWith];
};

// Entries as results with the weights of their stemmed words; "GroupCDF" has the parts "Group", "CDF".
const readEntries = () => {
  const stemmer = new Stemmer();
  const stemsOf = (text) => splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word));
  return searchEntries.map(([page, anchor, title, words]) => {
    const parts = stemsOf(title.replace(/([a-z])([A-Z])|_/g, "$1 $2"));
    const weights = new Map(parts.map((stem) => [stem, PAGE_WEIGHTS.partOfName]));
    for (const stem of stemsOf(`${title} ${words}`)) weights.set(stem, PAGE_WEIGHTS.entry);
    return { page, anchor: anchor && `#${anchor}`, title, weights };
  });
};

const rankPages = (searchTerms, excludedTerms) => {
  const { terms, titleterms, docnames, filenames, titles } = Search._index;
  const numbers = new Map(docnames.map((name, number) => [name, number]));
  const entries = readEntries();
  const results = new Map(); // by page and place
  const resultOf = (page, anchor, title) => {
    const key = page + anchor;
    if (!results.has(key)) results.set(key, { page, anchor, title, score: 0, words: new Set() });
    return results.get(key);
  };
  const excluded = new Set();
  for (const word of excludedTerms) {
    for (const file of asList(terms[word]).concat(asList(titleterms[word]))) excluded.add(file);
  }

  for (const word of searchTerms) {
    const weights = new Map(); // of results, by the best place of the word
    const raise = (result, weight) => {
      weights.set(result, Math.max(weight, weights.get(result) || 0));
    };
    for (const [index, place] of [[terms, "text"], [titleterms, "title"]]) {
      const [files, factor] = filesWith(word, index);
      for (const file of files) {
        raise(resultOf(docnames[file], "", titles[file]), factor * PAGE_WEIGHTS[place]);
      }
    }
    for (const entry of entries) {
      if (!entry.weights.has(word) || !numbers.has(entry.page)) continue;
      const title = entry.anchor ? entry.title : titles[numbers.get(entry.page)];
      raise(resultOf(entry.page, entry.anchor, title), entry.weights.get(word));
    }
    const rarity = Math.log(1 + docnames.length / Math.max(1, weights.size));
    for (const [result, weight] of weights) {
      result.score += weight * rarity;
      result.words.add(word);
    }
  }

  // Sphinx leaves numbers out of a search.
  const query = new URLSearchParams(window.location.search).get("q") || "";
  const typed = query.match(/\d+/g) || [];
  const found = [];
  for (const { page, anchor, title, score, words } of results.values()) {
    const number = numbers.get(page);
    const share = words.size / searchTerms.size;
    if (share < 0.5 || excluded.has(number)) continue;
    const numbered = typed.length > 0 && typed.every((digits) => title.includes(digits));
    const ranked = score * share * pageFactor(page) * (numbered ? 1.6 : 1);
    found.push([page, title, anchor, null, ranked, filenames[number], "text"]);
  }
  return found.sort((one, other) => other[4] - one[4]).slice(0, 60);
};

if (typeof Search !== "undefined") Search.performTermsSearch = rankPages;
