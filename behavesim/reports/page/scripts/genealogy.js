// The genealogy of a program: its ancestors over the course of the run. A program opens by a click; from its dialog one
// turns to its own genealogy.

const ANCESTORS = 150; // largest number of programs drawn: the nearest generations
let progeny = null; // the candidate whose genealogy is shown; null for the best
let drawGenealogy = () => {};

/** The candidate and its ancestors, each once, the nearest generations first, at most ANCESTORS. */
function ancestorsOf(candidate) {
  const found = new Set([candidate]);
  for (const each of found) {
    for (const parent of cellsOf(each).parents) if (found.size < ANCESTORS) found.add(parent);
  }
  return [...found].filter((each) => cellsOf(each).score !== null && cellsOf(each).score !== undefined);
}

function genealogy(found) {
  const { summary } = found;
  const candidate = progeny !== null && progeny < found.candidates.candidate.length ? progeny : summary.best.candidate;
  const people = ancestorsOf(candidate).map((each) => ({ candidate: each, ...cellsOf(each) }));
  const isIn = new Map(people.map((each) => [each.candidate, each]));
  const byGap = people.every((each) => each.gap !== null);
  const worth = (each) => (byGap ? 100 * each.gap : each.score);
  const ties = people.flatMap((child) => [...new Set(child.parents)].filter((parent) => isIn.has(parent)).map((parent) => ({ from: isIn.get(parent), to: child })));
  const isLess = byGap || found.objective.direction === "minimise";
  const domain = scoreDomain(people.map(worth), summary.template && worth(summary.template), null, isLess);
  const [first, last] = d3.extent(people, (each) => each.candidate);
  const ticks = wholeTicks(Math.max(0, first), last).filter((tick) => !isIn.has(TEMPLATE) || tick > last / 10); // the template takes the place of 0
  const at = { x: "candidate", y: worth };
  const drawn = plotted({
    width: room(), height: 320, marginLeft: 56, marginRight: 24, marginTop: 30, marginBottom: 44, inset: 10,
    x: { label: "candidate", ticks: isIn.has(TEMPLATE) ? [TEMPLATE, ...ticks] : ticks, tickFormat: (value) => (value === TEMPLATE ? "template" : count(value)) },
    y: { label: byGap ? "gap to the best known, %" : scoreTitle(found.objective), grid: true, domain, clamp: true },
    marks: [
      Plot.link(ties, { x1: (tie) => tie.from.candidate, y1: (tie) => worth(tie.from), x2: (tie) => tie.to.candidate, y2: (tie) => worth(tie.to), stroke: "var(--faint)", strokeOpacity: 0.6, strokeWidth: 1.25 }),
      Plot.dot(people.slice(1), { ...at, r: 5, fill: "var(--best)", stroke: "var(--paper)", sort: null }),
      Plot.dot(people.slice(0, 1), { ...at, r: 7, fill: "var(--second)", stroke: "var(--ink)" }),
      Plot.tip(people, Plot.pointer({ ...at, title: (each) => inShort(each.candidate) })),
    ],
  });
  const beyond = people.filter((each) => worth(each) < domain[0] || worth(each) > domain[1]).length;
  const groups = [...drawn.querySelectorAll("[aria-label=dot]")];
  asButtons(groups.flatMap((group) => [...group.children]), [...people.slice(1), people[0]].map((each) => each.candidate), inShort);
  return [
    h("p", { class: "note" }, `${named(candidate)[0].toUpperCase()}${named(candidate).slice(1)} and ${counted(people.length - 1, "ancestor")}: the programs that prompts showed, and those behind them${people.length >= ANCESTORS ? `, at most ${ANCESTORS}` : ""}.${beyond ? ` ${count(beyond)} beyond the axis ${beyond === 1 ? "stands" : "stand"} on its edge.` : ""} Choose one to open it.`),
    h("figure", { class: "chart" }, drawn),
  ];
}

/** Show the genealogy of a candidate, and scroll to it. */
function turnTo(candidate) {
  progeny = candidate;
  drawGenealogy();
  document.getElementById("program").close();
  document.getElementById("lineage").scrollIntoView();
}
