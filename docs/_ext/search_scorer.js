/* How the search ranks pages: Sphinx's own numbers, and first of all a title that holds the whole
   query. Somebody who searches for an error message wants the page that is named after it. */
var Scorer = {
  score: ([_docname, title, _anchor, _description, score]) => {
    const query = new URLSearchParams(window.location.search).get("q") ?? "";
    const whole = query.trim().toLowerCase();
    return whole && title.toLowerCase().includes(whole) ? score + 100 : score;
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
