// Two metrics against each other, of all programs, and the Pareto front: the programs that no other beats in both.

const POINTS = 3000; // largest number of programs drawn beside the front; more would make the page slow
const LISTED = 30; // largest number of programs of the front that are listed below the chart
const SENSES = [["", "which is better?"], ["higher", "higher is better"], ["lower", "lower is better"]];

/** The points that no other beats in both, best in x first; of equal points the oldest. `isLess` are for x and y. */
function paretoFront(points, isLessX, isLessY) {
  const order = points.toSorted((a, b) => (isLessX ? a.x - b.x : b.x - a.x) || (isLessY ? a.y - b.y : b.y - a.y) || a.candidate - b.candidate);
  let best = null;
  return order.filter(({ y }) => {
    const isBetter = best === null || (isLessY ? y < best : y > best);
    if (isBetter) best = y;
    return isBetter;
  });
}

/** Some of the points in even steps, at most `most`. */
function thinned(points, most) {
  const step = Math.max(1, points.length / most);
  return d3.range(0, points.length, step).map((place) => points[Math.floor(place)]);
}

/** Return the section's drawing function; the chosen metrics and senses stay when a newer document is shown. */
function metricsChart() {
  const senses = new Map(); // "lower" or "higher", as the reader chose, by the id of a metric
  const chosen = { x: null, y: null };
  let known = new Map(); // by its id, a metric's title and values, in the order of the candidates
  let candidates = null;
  let isLessScore = false;

  const pick = (axis, words) => h("select", { "aria-label": `Metric ${words}`, change: (event) => { chosen[axis] = event.target.value; draw(); } });
  const turn = (axis, words) => h("select", { "aria-label": `Better end ${words}`, change: (event) => { senses.set(chosen[axis], event.target.value); draw(); } });
  const selects = { x: [pick("x", "across"), turn("x", "across")], y: [pick("y", "upwards"), turn("y", "upwards")] };
  const below = h("div", {});
  const element = h("div", {},
    h("div", { class: "controls axes" }, h("label", {}, "Upwards ", selects.y), h("label", {}, "Across ", selects.x)), below);

  // a task does not say which end of a metric of its own is better, so that is "" until the reader does
  const given = (id) => ({ cpu_s: "lower", score: isLessScore ? "lower" : "higher" })[id] ?? "";
  const senseOf = (id) => senses.get(id) || given(id);
  const isLess = (id) => senseOf(id) === "lower";

  function fillSelects() {
    for (const axis of ["x", "y"]) {
      const [metric, sense] = selects[axis];
      metric.replaceChildren(...[...known].map(([id, { title }]) => h("option", { value: id, selected: id === chosen[axis] }, title)));
      const now = senseOf(chosen[axis]);
      sense.replaceChildren(...SENSES.filter(([value]) => value || !now).map(([value, words]) => h("option", { value, selected: value === now }, words)));
    }
  }

  function draw() {
    fillSelects();
    const [x, y] = [known.get(chosen.x), known.get(chosen.y)];
    const feasible = d3.range(candidates.candidate.length).filter((place) => candidates.status[place] === "feasible");
    const points = feasible
      .map((place) => ({ candidate: candidates.candidate[place], x: x.values[place], y: y.values[place] }))
      .filter((each) => typeof each.x === "number" && typeof each.y === "number");
    if (!points.length) {
      below.replaceChildren(nothing("No program has a finite value of both."));
      return;
    }
    const isKnown = senseOf(chosen.x) !== "" && senseOf(chosen.y) !== "";
    const front = isKnown ? paretoFront(points, isLess(chosen.x), isLess(chosen.y)) : [];
    const left = feasible.length - points.length;
    const fewer = points.length > POINTS ? ` About ${count(POINTS)} are drawn.` : "";
    const without = left ? ` ${counted(left, "program")} without a finite value of both ${left === 1 ? "is" : "are"} left out.` : "";
    const said = isKnown
      ? `${counted(front.length, "program")} of ${count(points.length)}: no other is better in one and as good in the other.`
      : `The task does not say whether a higher or a lower ${[chosen.x, chosen.y].filter((id) => !senseOf(id)).map((id) => known.get(id).title).join(" and ")} is better. Choose it above to see the Pareto front.`;
    below.replaceChildren(...[
      h("p", { class: "note" }, `${said}${fewer}${without}`),
      plot(points, front, x.title, y.title), isKnown && list(front, x.title, y.title)].filter(Boolean));
  }

  function plot(points, front, x, y) {
    const words = (each) => `${inShort(each.candidate)}\n${y}: ${score(each.y)}\n${x}: ${score(each.x)}`;
    const line = front.toSorted((a, b) => a.x - b.x);
    const figure = chart(`${y} against ${x}: ${counted(points.length, "program")}${front.length ? `, ${front.length} on the front` : ""}`, {
      height: 380, marginLeft: 64, marginRight: 24, marginBottom: 44, inset: 8,
      x: { label: x, grid: true, nice: true, ticks: room() < 640 ? 4 : 8 },
      y: { label: y, grid: true, nice: true },
      marks: [
        Plot.dot(thinned(points, POINTS), { x: "x", y: "y", r: 3, fill: "var(--faint)", fillOpacity: 0.55 }),
        // the corner between two programs of the front is what the worse one of them reaches
        Plot.line(line, { x: "x", y: "y", stroke: "var(--second)", strokeWidth: 1.5, strokeDasharray: "5 3", curve: isLess(chosen.x) ? "step-after" : "step-before" }),
        Plot.dot(front, { x: "x", y: "y", r: 6, fill: "var(--second)", stroke: "var(--ink)", strokeWidth: 1, sort: null }),
        Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: words })),
      ],
    }, front.length ? legend([["var(--second)", "Pareto front", "dashed"]]) : []);
    if (!front.length) return figure;
    const drawn = figure.querySelector("svg");
    drawn.setAttribute("role", "group"); // it holds buttons, which an image must not
    asButtons([...[...drawn.querySelectorAll("[aria-label=dot]")].at(-1).children], front.map((each) => each.candidate), (candidate) => `${named(candidate)}, on the front`);
    return figure;
  }

  function list(front, x, y) {
    const more = front.length > LISTED ? [h("p", { class: "note" }, `The first ${LISTED} of ${count(front.length)}.`)] : [];
    const rows = front.slice(0, LISTED).map((each) => h("tr", {}, h("th", { scope: "row" }, opener(each.candidate)), numberCell(score(each.y)), numberCell(score(each.x))));
    return h("div", {}, tableOf([heading("on the front"), heading(y, true), heading(x, true)], rows, "narrow"), more);
  }

  function update(found) {
    candidates = found.candidates;
    isLessScore = found.objective.direction === "minimise";
    const isDrawn = (value, place) => typeof value === "number" && candidates.status[place] === "feasible";
    const told = found.metrics.filter(({ values }) => values.some(isDrawn)).map(({ name, values }) => [`metric:${name}`, { title: name, values }]);
    known = new Map([["score", { title: scoreTitle(found.objective), values: candidates.score }], ...told, ["cpu_s", { title: "CPU time (s)", values: candidates.cpu_s }]]);
    // a metric that only repeats the score, such as `combined_score`, says nothing beside it
    const other = told.find(([, { values }]) => values.some((value, place) => isDrawn(value, place) && value !== candidates.score[place]));
    if (!known.has(chosen.x)) chosen.x = other ? other[0] : "cpu_s";
    if (!known.has(chosen.y)) chosen.y = "score";
    draw();
    return [element];
  }

  return update;
}
