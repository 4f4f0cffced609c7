// The map of behaviours: programs that behave alike are close together.

const LITTLE = 0.2; // fraction of the distances that the plane keeps; below it the page warns the reader

/**
 * Make the marks of a chart buttons: a click, Enter or space opens a mark's candidate, arrow keys move to another mark.
 * `marks` are elements in the order of `candidates`.
 */
function asButtons(marks, candidates, label) {
  marks.forEach((mark, index) => {
    mark.setAttribute("role", "button");
    mark.setAttribute("tabindex", index === 0 ? 0 : -1);
    mark.setAttribute("aria-label", label(candidates[index]));
    mark.dataset.candidate = candidates[index];
    mark.addEventListener("click", () => openProgram(candidates[index]));
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") openProgram(candidates[index]);
      else if (step) marks[(index + step + marks.length) % marks.length].focus();
      else return;
      event.preventDefault();
    });
  });
}

/** A candidate's name, score and gap, for a tooltip. */
function inShort(candidate) {
  const cells = cellsOf(candidate);
  const gap = cells.gap === null ? "" : `, gap ${percent(cells.gap)}`;
  return `${named(candidate)}\nscore ${score(cells.score)}${gap}`;
}

function drawMap({ map, objective }) {
  const { places, kept } = map;
  if (places.length < 3) return [nothing("A map needs at least three programs.")];
  const bestLast = places.toReversed(); // of programs in one place, the best is drawn on top and named by the tooltip
  // The worst programs are far worse than the others; without a limit all others would have one colour.
  const worth = places.map((each) => each.score);
  const isLess = objective.direction === "minimise";
  const usual = d3.quantile(worth, isLess ? 0.85 : 0.15);
  const drawn = plotted({
    width: room(), height: Math.min(600, room()), inset: 16, margin: 4,
    x: { axis: null }, y: { axis: null }, aspectRatio: 1,
    color: { type: "linear", scheme: "viridis", domain: d3.extent([usual, worth[0]]), reverse: isLess, clamp: true, legend: true, label: "score: yellow is best, violet that or worse" },
    marks: [
      Plot.dot(places.slice(0, 1), { x: "x", y: "y", r: 11, stroke: "var(--ink)", strokeWidth: 1.5 }),
      Plot.dot(bestLast, { x: "x", y: "y", r: 5.5, fill: "score", stroke: "var(--ink)", strokeOpacity: 0.45, strokeWidth: 0.75, sort: null, ariaLabel: "program" }),
      Plot.tip(bestLast, Plot.pointer({ x: "x", y: "y", title: (each) => inShort(each.candidate) })),
    ],
  });
  const marks = [...drawn.querySelectorAll("[aria-label=dot]")].at(-1).children;
  asButtons([...marks].reverse(), places.map((each) => each.candidate), inShort);
  const care = kept < LITTLE ? ": programs close together need not behave alike" : "";
  const share = kept === null ? "All of them behave the same." : `The plane keeps ${percent(kept, 0)} of their differences${care}.`;
  return [
    h("p", { class: "note" }, `${counted(places.length, "program")}: the best, and others at even steps of their rank. Programs that behave alike are close together (classical scaling of 1 − BehaveSim). ${share} The ring is around the best; choose a point to open its program.`),
    h("figure", { class: "chart map" }, drawn),
  ];
}
