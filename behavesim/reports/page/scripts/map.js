// The map of behaviours: programs that behave alike are close together.

const LITTLE = 0.2; // fraction of the distances that the plane keeps; below it the page warns the reader

/** A candidate's name, score and gap, for a tooltip. */
function inShort(candidate) {
  const cells = cellsOf(candidate);
  const gap = cells.gap === null ? "" : `, gap ${percent(cells.gap)}`;
  return `${named(candidate)}\nscore ${score(cells.score)}${gap}`;
}

/** The programs that readers look for, with the mark and the name of each. */
function marked(places, summary) {
  const [best] = places;
  const at = (candidate) => places.find((each) => each.candidate === candidate);
  const entries = [[best, "best", "circle"], [at(summary.recommended?.candidate), "recommended", "diamond2"], [at(TEMPLATE), "template", "square2"]];
  return entries.filter(([place]) => place).map(([place, words, symbol]) => ({ ...place, words, symbol }));
}

/** The marks' names, one for all marks on one point. */
function captions(marks) {
  return d3.groups(marks, ({ x, y }) => `${x} ${y}`).map(([, same]) => ({ ...same[0], words: same.map((each) => each.words).join(", ") }));
}

function drawMap({ map, summary, objective }) {
  const { places, kept } = map;
  if (places.length < 3) return [nothing("Too few programs for a map (needs 3).")];
  const order = d3.sort(places, (a, b) => (objective.direction === "minimise" ? a.score - b.score : b.score - a.score) || a.candidate - b.candidate);
  const ranks = new Map(order.map((each, rank) => [each.candidate, rank + 1]));
  const bestLast = places.toReversed(); // of programs in one place, the best is drawn on top and named by the tooltip
  const marks = marked(places, summary);
  const middle = d3.mean(d3.extent(places, (each) => each.x)); // a name begins or ends at its mark, whichever keeps it on the map
  const drawn = plotted({
    width: room(), height: Math.min(600, room()), inset: 24, margin: 4,
    x: { axis: null }, y: { axis: null }, aspectRatio: 1,
    color: { type: "linear", scheme: "viridis", domain: [1, places.length], reverse: true, legend: true, label: "rank among these programs: yellow is the best", tickFormat: "d", ticks: Math.min(5, places.length) },
    symbol: { type: "identity" },
    marks: [
      Plot.dot(marks, { x: "x", y: "y", r: 11, symbol: "symbol", stroke: "var(--ink)", strokeWidth: 1.75 }),
      Plot.dot(bestLast, { x: "x", y: "y", r: 5.5, fill: (each) => ranks.get(each.candidate), stroke: "var(--ink)", strokeOpacity: 0.45, strokeWidth: 0.75, sort: null, ariaLabel: "program" }),
      ...["start", "end"].map((side) => Plot.text(captions(marks).filter(({ x }) => (x < middle) === (side === "start")), { x: "x", y: "y", text: "words", textAnchor: side, dx: side === "start" ? -10 : 10, dy: -18, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4, fontWeight: 600 })),
      Plot.tip(bestLast, Plot.pointer({ x: "x", y: "y", title: (each) => `${inShort(each.candidate)}\nrank ${ranks.get(each.candidate)} of ${places.length}` })),
    ],
  });
  const dots = [...drawn.querySelectorAll("[aria-label=dot]")].at(-1).children;
  asButtons([...dots].reverse(), places.map((each) => each.candidate), inShort);
  const care = kept < LITTLE ? ": programs close together need not behave alike" : "";
  const share = kept === null ? "All of them behave the same." : `The plane keeps ${percent(kept, 0)} of their differences${care}.`;
  return [
    h("p", { class: "note" }, `${counted(places.length, "program")}: the best, and others at even steps of their rank. Programs that behave alike are close together (classical scaling of 1 − BehaveSim). ${share} Choose a point to open its program.`),
    h("figure", { class: "chart map" }, drawn),
  ];
}
