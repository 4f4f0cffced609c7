// The sections of the page, in order, and the function that shows a document: `behavesim.render(document)`.

/** Each section's id, title, function from the document to elements, and the parts of the document that it depends on. */
const SECTIONS = [
  ["summary", "Summary", drawSummary, ["summary", "objective", "distinct", "notes", "budget", "held_out", "has_held_out"]],
  ["best", "Best program", drawBest, ["summary"]],
  ["convergence", "Convergence", drawConvergence, ["convergence", "improvements", "objective"]],
  ["unseen", "Unseen instances", drawUnseen, ["held_out", "has_held_out", "summary"]],
  ["top", "Best behaviours", drawTop, ["top"]],
  ["portfolio", "Portfolio", drawPortfolio, ["portfolio"]],
  ["metrics", "Metrics", metricsChart(), ["metrics", "candidates", "objective"]],
  ["map", "Map of behaviours", drawMap, ["map", "summary"]],
  ["behaviour_vs_text", "Behaviour versus text", drawBehaviourVsText, ["behaviour_vs_text"]],
  ["replay", "Replay", replay(), ["scenes"]],
  ["diversity", "Diversity", drawDiversity, ["diversity"]],
  ["lineage", "Genealogy", drawLineage, ["lineage"]],
  ["candidates", "Candidates", candidatesTable(), ["candidates", "metrics"]],
  ["failures", "Failures", drawFailures, ["failures"]],
  ["making", "How it was made", drawMaking, ["made", "summary"]],
];
const ALWAYS = ["summary", "candidates", "failures", "making"]; // the others show feasible candidates, and are hidden without any
const PATIENCE = 150; // milliseconds after the last change of the window's size until charts are drawn again
const drawn = new Map(); // what each section shows, as JSON: an unchanged section is not redrawn, so readers keep their place
let drawnFor = 0; // the width in pixels for which the charts were drawn

/** Show a document in place of the one before. */
function render(found) {
  shown = found;
  texts = null;
  document.title = `${found.summary.run} · behavesim`;
  drawHead(found);
  order(found);
  if (drawnFor !== room()) drawn.clear();
  drawnFor = room();
  for (const [id, , draw, parts] of SECTIONS) {
    const isHidden = !found.summary.best && !ALWAYS.includes(id);
    for (const element of [document.getElementById(id), document.querySelector(`#contents [href="#${id}"]`)]) element.hidden = isHidden;
    if (isHidden) continue;
    const now = JSON.stringify(parts.map((part) => found[part]));
    if (drawn.get(id) !== now) document.querySelector(`#${id} > div`).replaceChildren(...draw(found));
    drawn.set(id, now);
  }
}

/** Put the sections in order: the failures come first where no candidate is feasible, as they say why. */
function order({ summary, failures }) {
  const isFruitless = !summary.feasible && failures.length > 0;
  const ids = SECTIONS.map(([id]) => id);
  const wanted = isFruitless ? ["failures", ...ids.filter((id) => id !== "failures")] : ids;
  const main = document.getElementById("main");
  if (wanted.some((id, place) => main.children[place].id !== id)) main.append(...wanted.map((id) => document.getElementById(id)));
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
openNamed();
addEventListener("hashchange", openNamed);
globalThis.behavesim = { render };
