// The parts of a comparison: verdicts, curves with bands, a dot for each run, the map of all groups, and what one found alone.

const COLOURS_OF_GROUPS = 6; // colours that a reader can tell apart; further groups begin again, with other dashes and symbols
const SYMBOLS = ["circle", "square2", "triangle2", "diamond2"];
const DASHES = [["solid", null], ["dashed", "9 4"], ["dotted", "2 3"]]; // of the legend, and of the curve
const dashOf = (group) => DASHES[Math.floor(group / COLOURS_OF_GROUPS) % DASHES.length];
const colourOf = (group) => `var(--branch-${(group % COLOURS_OF_GROUPS) + 1})`;
const symbolOf = (group) => SYMBOLS[Math.floor(group / COLOURS_OF_GROUPS) % SYMBOLS.length];
const groupLegend = (groups) => legend(groups.map(({ label }, group) => [colourOf(group), label, dashOf(group)[0]]));
const seeds = (runs) => counted(runs, "seed");

/** The share of a run whose curves and bands may leave the plot: all after it is inside. */
const EARLY = 0.1;

/** The number of a curve, or of a dot, as text: fractions in per cent. */
const worthText = (isFraction) => (value) => (isFraction ? percent(value) : score(value));

function drawCurves({ groups, by_gap: byGap, unit, template, fewest }) {
  const scale = byGap ? 100 : 1;
  const points = groups.flatMap(({ curve, runs }, group) => curve.map(({ asked, best }) => ({ ...best, asked, group, seeds: runs.length })));
  if (!points.length) return [nothing("No group has a feasible program in all of its runs.")];
  const bands = points.filter((at) => at.low !== null);
  const text = worthText(byGap);
  const values = points.flatMap((at) => [at.mean, ...(at.low === null ? [] : [at.low, at.high])]);
  const isLess = points.at(0).mean >= points.filter((at) => at.group === points[0].group).at(-1).mean;
  const asked = d3.max(points, (at) => at.asked);
  // the first programs, and the template, may be so bad that the rest of the curves would be flat lines
  const later = points.filter((at) => at.asked > EARLY * asked);
  const worst = isLess ? d3.max(later, (at) => at.high ?? at.mean) : d3.min(later, (at) => at.low ?? at.mean);
  const inner = d3.extent([worst, isLess ? d3.min(values) : d3.max(values), ...(byGap ? [0] : [])]);
  const isNear = template !== null && d3.max(inner, (end) => Math.abs(template - end)) <= 2 * (inner[1] - inner[0]);
  const ends = d3.extent([...inner, ...(isNear ? [template] : [])]);
  const margin = ends[0] === ends[1] ? Math.abs(ends[0]) / 10 || 1 : 0;
  const ended = groups.map(({ label, curve }) => (curve.length ? `${label} ${text(curve.at(-1).best.mean)}` : "")).filter(Boolean).join(", ");
  return [chart(`Mean best so far over ${asked} candidates, in the end ${ended}`, {
    height: 340, marginLeft: 56, marginRight: 24, marginBottom: 44,
    x: { label: "candidates", domain: [0, asked], ticks: wholeTicks(0, asked), tickFormat: count },
    y: { label: byGap ? "mean gap of the best so far, %" : `mean ${scoreTitle({ unit })} of the best so far`, grid: true, inset: 4, domain: [scale * (ends[0] - margin), scale * (ends[1] + margin)] },
    marks: [
      Plot.areaY(bands, { x: "asked", y1: (at) => scale * at.low, y2: (at) => scale * at.high, z: "group", fill: (at) => colourOf(at.group), fillOpacity: 0.18, clip: true }),
      !isNear ? null : Plot.ruleY([scale * template], { stroke: "var(--ink)", strokeWidth: 1.25, strokeDasharray: "2 3", clip: true }),
      DASHES.map(([name, dash]) => Plot.line(points.filter((at) => dashOf(at.group)[0] === name), { x: "asked", y: (at) => scale * at.mean, z: "group", stroke: (at) => colourOf(at.group), strokeWidth: 2.25, strokeDasharray: dash, clip: true })),
      Plot.tip(points, Plot.pointer({ x: "asked", y: (at) => scale * at.mean, title: (at) => `${groups[at.group].label}, ${seeds(at.seeds)}\nafter ${count(at.asked)} candidates: ${text(at.mean)}${at.low === null ? "" : `\n95 %: ${text(at.low)} to ${text(at.high)}`}` })),
    ],
    color: { type: "identity" },
  }, groupLegend(groups)),
  h("p", { class: "note" }, `The mean over the seeds of a group. The band is the 95 % confidence interval of the mean; a group with fewer than ${fewest} seeds has none.${isNear ? " The dotted line is the template." : template === null ? "" : ` The template, ${text(template)}, is beyond the axis.`}`)];
}

/** A dot for each run, a row for each group, and a bar at the mean. */
function drawDots({ groups, dots, verdicts }) {
  if (dots === null) return [nothing("No run has a value to compare.")];
  const scale = dots.is_fraction ? 100 : 1;
  const text = worthText(dots.is_fraction);
  const all = groups.flatMap(({ dots: own }, group) => own.map((dot) => ({ ...dot, group })));
  const means = groups.map(({ dots: own, label }, group) => ({ label, group, mean: d3.mean(own, (dot) => dot.value) })).filter(({ mean }) => mean !== undefined);
  const longest = d3.max(groups, ({ label }) => label.length);
  const ends = d3.extent(all, (dot) => scale * dot.value);
  const drawn = {
    height: 70 + 38 * groups.length, marginLeft: Math.min(room() / 2.6, 24 + 7.6 * longest), marginRight: 24, marginBottom: 44, marginTop: 12,
    x: { label: dots.title, grid: true, nice: true, domain: ends[0] === ends[1] ? [ends[0] - 1, ends[1] + 1] : ends, ticks: room() < 640 ? 4 : 8 },
    y: { domain: groups.map(({ label }) => label), label: null, tickFormat: (label) => (room() < 640 && label.length > 16 ? `${label.slice(0, 15)}…` : label) },
    marks: [
      Plot.tickX(means, { x: ({ mean }) => scale * mean, y: "label", stroke: ({ group }) => colourOf(group), strokeWidth: 3, inset: 6 }),
      Plot.dot(all, { x: (dot) => scale * dot.value, y: (dot) => groups[dot.group].label, r: 5, fill: (dot) => colourOf(dot.group), fillOpacity: 0.65, stroke: "var(--ink)", strokeWidth: 0.75 }),
      Plot.tip(all, Plot.pointer({ x: (dot) => scale * dot.value, y: (dot) => groups[dot.group].label, title: (dot) => `${dot.run}, seed ${dot.seed}\n${text(dot.value)}` })),
    ],
    color: { type: "identity" },
  };
  return [
    h("ul", { class: "verdicts" }, (verdicts.length ? verdicts : ["There is nothing to test."]).map((sentence) => h("li", {}, sentence))),
    chart(`${dots.title}: ${means.map(({ label, mean }) => `${label} ${text(mean)}`).join(", ")}`, drawn),
    h("p", { class: "note" }, "A dot is a run, a bar the mean of its group."),
  ];
}

function openCode(program, groups) {
  openDialog(`Candidate ${program.candidate} of ${program.run}`,
    facts([["group", groups[program.group].label], ["score", score(program.score)], ["gap", program.gap === null ? "" : percent(program.gap)],
      ["to the nearest of another group", program.elsewhere === null ? "" : `distance ${program.elsewhere.toFixed(3)}`]]),
    h("div", { class: "controls" }, copyButton(trimmed(program.source), `candidate ${program.candidate}`)), code(program.source));
}

const programOpener = (program, groups) => h("button", { class: "link", type: "button", click: () => openCode(program, groups) }, `${program.run} ${program.candidate}`);

function drawSharedMap({ groups, map: { programs, kept } }) {
  if (programs.length < 3) return [nothing("Too few programs for a map (needs 3).")];
  const words = (each) => `${groups[each.group].label}\n${each.run}, candidate ${each.candidate}\nscore ${score(each.score)}${each.gap === null ? "" : `, gap ${percent(each.gap)}`}`;
  const bests = groups.map((_, group) => programs.find((each) => each.group === group)).filter(Boolean);
  const drawn = plotted({
    width: room(), height: Math.min(560, room()), inset: 24, margin: 4, x: { axis: null }, y: { axis: null }, aspectRatio: 1,
    color: { type: "identity" }, symbol: { type: "identity" },
    marks: [
      Plot.dot(bests, { x: "x", y: "y", r: 11, stroke: "var(--ink)", strokeWidth: 1.75 }),
      Plot.dot(programs.toReversed(), { x: "x", y: "y", r: 5, fill: (each) => colourOf(each.group), symbol: (each) => symbolOf(each.group), fillOpacity: 0.75, stroke: "var(--ink)", strokeWidth: 0.6, sort: null }),
      Plot.tip(programs, Plot.pointer({ x: "x", y: "y", title: words })),
    ],
  });
  const marks = [...[...drawn.querySelectorAll("[aria-label=dot]")].at(-1).children].reverse();
  asButtons(marks, programs, words, (program) => openCode(program, groups));
  const share = kept === null ? "All of them behave the same." : `The plane keeps ${percent(kept, 0)} of their differences.`;
  return [
    h("p", { class: "note" }, `The ${programs.length} best behaviours of all groups, an equal share of each. Those that behave alike are close together (classical scaling of 1 − BehaveSim). ${share} A ring is around the best of each group; choose a point to see its code.`),
    h("figure", { class: "chart map" }, drawn, groupLegend(groups)),
  ];
}

function drawAlone({ groups, map: { programs, far, alone } }) {
  if (groups.length < 2 || !programs.length) return [nothing("There is only one group.")];
  const format = aligned(programs.map((each) => each.score));
  const row = (program) => h("tr", {}, h("th", { scope: "row" }, programOpener(program, groups)),
    [format(program.score), percent(program.gap), program.elsewhere.toFixed(3)].map(numberCell));
  return [
    h("p", { class: "note" }, `The best behaviours of each group that no other group has: nothing of another group on the map is nearer than ${far.toFixed(3)}, the distance from which on recommendations count behaviours as different.`),
    h("div", { class: "groups" }, groups.map(({ label }, group) => h("div", {},
      h("h4", {}, label),
      alone[group].length ? tableOf([heading("program"), ...["score", "gap", "distance to other groups"].map((name) => heading(name, true))], alone[group].map((place) => row(programs[place])), "narrow") : nothing("Nothing that the others did not find.")))),
  ];
}

/** The commands that make each run again, with buttons that copy them. */
function drawCommands(made) {
  return h("details", {}, h("summary", {}, `The commands of ${counted(made.length, "run")}`), made.map(({ run, commands }) => [
    h("h4", {}, run), commands.map((command) => h("div", { class: "command" }, h("code", {}, command), copyButton(command, `the command of ${run}`)))].flat()));
}

function drawTable({ title, caption, columns, rows }) {
  const cell = ([text, isBold], place) => h("td", { class: columns[place][1] ? "number" : null }, isBold ? h("strong", {}, text) : text);
  return h("div", { class: "told" }, h("h3", {}, title), tableOf(columns.map(([name, isNumber]) => heading(name, isNumber)), rows.map((row) => h("tr", {}, row.map(cell)))), caption ? h("p", { class: "note" }, caption) : "");
}
