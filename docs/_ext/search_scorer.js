/* How the search finds and ranks pages: as Sphinx does, but for messages. */

/* Without the class, as in titles of pages about messages. */
const messageOf = (text) => text.trim().toLowerCase().replace(/^[\w.]+(error|warning): /, "");

/* Somebody who searches for a message wants the page that is named after it, first of all. Such a
   title is the message or how it begins, so it may hold the query, or the query may hold it. */
var Scorer = {
  score: ([_docname, title, _anchor, _description, score]) => {
    const query = messageOf(new URLSearchParams(window.location.search).get("q") ?? "");
    const named = messageOf(title);
    if (!query) return score;
    if (named.includes(query)) return score + 100;
    return query.includes(named) ? score + named.length : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

/* Sphinx finds pages that have every word. A message that was pasted whole has words of the
   reader's own program, too: sizes, paths, names. When no page has them all, those with the most
   are found; a word counts the more, the fewer pages have it. */
const MOST = 5;
const withEveryWord = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = withEveryWord(words, excluded);
  if (found.length) return found;
  const { docnames, filenames, terms, titles, titleterms } = Search._index;
  const scores = new Map();
  for (const [index, weight] of [[terms, Scorer.term], [titleterms, Scorer.title]])
    for (const word of words) {
      const files = Object.hasOwn(index, word) ? [index[word]].flat() : [];
      for (const file of files) scores.set(file, (scores.get(file) ?? 0) + weight / files.length);
    }
  return [...scores]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MOST)
    .map(([file, score]) => [
      docnames[file], titles[file], "", null, score, filenames[file], SearchResultKind.text,
    ]);
};

/* The "t" of "can't" would be looked for, and marked, as a word of its own. */
const inWords = splitQuery;
splitQuery = (query) => inWords(query.replace(/['’]\p{Letter}\b/gu, ""));

/* What a result shows of its page begins with the answer, not with the theme's buttons above it. */
const textOf = Search.htmlToText;
Search.htmlToText = (html, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  page.querySelectorAll(".bd-header-article, .bd-sidebar-secondary").forEach((part) => part.remove());
  return textOf(page.documentElement.outerHTML, anchor);
};
