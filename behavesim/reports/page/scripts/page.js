// The sections of the page, in order, and the one way to show a document: `behavesim.render(document)`.

/** An id, a title, a function from the document to elements, and the parts of the document that these depend on. */
const SECTIONS = [
  ["summary", "Summary", drawSummary, ["summary", "objective", "distinct", "notes", "budget"]],
  ["convergence", "Convergence", drawConvergence, ["convergence", "objective"]],
  ["top", "Best behaviours", drawTop, ["top"]],
  ["portfolio", "Several programs", drawPortfolio, ["portfolio"]],
  ["map", "Map of behaviours", drawMap, ["map", "objective"]],
  ["likeness", "Behaviour and code", drawLikeness, ["likeness"]],
  ["replay", "Replay", replay(), ["scenes"]],
  ["diversity", "Diversity", drawDiversity, ["diversity"]],
  ["lineage", "Lineage", drawLineage, ["lineage"]],
  ["candidates", "Candidates", candidatesTable(), ["candidates"]],
  ["failures", "Failures", drawFailures, ["failures"]],
];
const PATIENCE = 150; // milliseconds without a further change of the window's size
const drawn = new Map(); // what each section shows, as JSON: what has not changed is left alone, as are those who read it
let drawnFor = 0; // the width that the charts were drawn for

/** Show a document, in place of the one before it. */
function render(found) {
  shown = found;
  texts = null;
  document.title = `${found.summary.run} · behavesim`;
  drawHead(found);
  if (drawnFor !== room()) drawn.clear();
  drawnFor = room();
  for (const [id, , draw, parts] of SECTIONS) {
    const now = JSON.stringify(parts.map((part) => found[part]));
    if (drawn.get(id) !== now) document.querySelector(`#${id} > div`).replaceChildren(...draw(found));
    drawn.set(id, now);
  }
}

let settled = null;
addEventListener("resize", () => {
  clearTimeout(settled);
  settled = setTimeout(() => drawnFor !== room() && render(shown), PATIENCE);
});

document.getElementById("main").append(
  ...SECTIONS.map(([id, title]) => h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), h("div"))),
);
document.getElementById("contents").append(...SECTIONS.map(([id, title]) => h("a", { href: `#${id}` }, title)));
render(JSON.parse(document.getElementById("document").textContent));
globalThis.behavesim = { render };
