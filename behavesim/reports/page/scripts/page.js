// The sections of the page, in order, and the one way to show a document: `behavesim.render(document)`.

/** An id, a title, and a function from the document to elements, for each section. */
const SECTIONS = [
  ["summary", "Summary", drawSummary],
  ["convergence", "Convergence", drawConvergence],
  ["top", "Best behaviours", drawTop],
  ["map", "Map of behaviours", drawMap],
  ["likeness", "Behaviour and code", drawLikeness],
  ["replay", "What programs do", replay()],
  ["diversity", "Diversity", drawDiversity],
  ["lineage", "Lineage of the best", drawLineage],
  ["candidates", "All candidates", candidatesTable()],
  ["failures", "Why candidates fail", drawFailures],
];

/** Show a document, in place of the one before it. */
function render(found) {
  shown = found;
  texts = null;
  document.title = `${found.summary.run} · behavesim`;
  drawHead(found);
  for (const [id, , draw] of SECTIONS) document.querySelector(`#${id} > div`).replaceChildren(...draw(found));
}

document.getElementById("main").append(
  ...SECTIONS.map(([id, title]) => h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), h("div"))),
);
document.getElementById("contents").append(...SECTIONS.map(([id, title]) => h("a", { href: `#${id}` }, title)));
render(JSON.parse(document.getElementById("document").textContent));
globalThis.behavesim = { render };
