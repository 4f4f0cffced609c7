// Several programs to run side by side, taking the best answer: the score of the first k, and the best on each instance.

function drawPortfolio({ portfolio }) {
  const { members } = portfolio;
  if (!members.length) return [nothing("No behaviour recorded that can be compared.")];
  const instances = members[0].scores.length;
  const chosen = "The best program, then by score each program whose behaviour differs enough from all before it. ";
  const adds = "How much each adds to the best of those before it stands beside it. ";
  const where = instances === 1 ? "The search has one instance, on which the first program is the best: a set shows its worth only on other instances." : "Scores are on the search's instances, for which the programs were chosen: expect worse on others.";
  return [
    h("p", { class: "note" }, chosen + (members.length > 1 ? adds : "") + where),
    instances > 1 && members.length > 1 ? portfolioCurve(members) : "",
    portfolioTable(members),
  ];
}

/** A chart over k of the mean over instances of the best score, or gap, that the first k programs have on each. */
function portfolioCurve(members) {
  const byGap = members[0].together_gap !== null;
  const worth = (each) => (byGap ? percent(each.together_gap) : score(each.together));
  const curve = members.map((each, place) => ({ programs: place + 1, worth: byGap ? 100 * each.together_gap : each.together, each }));
  const ends = d3.extent(curve, (at) => at.worth);
  const isFlat = ends[1] - ends[0] <= 1e-6 * Math.abs(ends[0]);
  const domain = isFlat ? [ends[0] - Math.max(1, Math.abs(ends[0]) / 10), ends[0] + Math.max(1, Math.abs(ends[0]) / 10)] : ends;
  const drawn = {
    height: 260, marginLeft: 56, marginRight: 24, marginBottom: 44,
    x: { label: "programs", ticks: curve.map((at) => at.programs), tickFormat: "d" },
    y: { label: byGap ? "gap of the best of them, %" : "score of the best of them", grid: true, nice: true, domain },
    marks: [
      Plot.line(curve, { x: "programs", y: "worth", stroke: "var(--best)", strokeWidth: 2.25 }),
      Plot.dot(curve, { x: "programs", y: "worth", fill: "var(--best)", r: 4 }),
      Plot.tip(curve, Plot.pointerX({ x: "programs", y: "worth", title: (at) => `the first ${at.programs}: ${worth(at.each)}\nthe last is ${named(at.each.candidate)}` })),
    ],
  };
  const what = byGap ? "gap" : "score";
  return chart(`The best of ${members.length} programs on each instance: ${what} ${worth(members.at(-1))}, of the first alone ${worth(members[0])}`, drawn);
}

/** A table with a row for each program and its score on each instance: bold for the best program, ties to the first. */
function portfolioTable(members) {
  const format = aligned(members.flatMap((each) => [each.score, each.together, ...each.scores]));
  const instances = members[0].scores.map((_, place) => place + 1);
  const row = (each) => h("tr", {},
    h("th", { scope: "row" }, opener(each.candidate)),
    ...[format(each.score), percent(each.gap), format(each.together), percent(each.adds), each.nearest === null ? UNKNOWN : each.nearest.toFixed(3), count(each.alike)].map(numberCell),
    ...(instances.length > 1 ? instances.map((place) => numberCell(each.wins.includes(place) ? h("strong", {}, format(each.scores[place - 1])) : format(each.scores[place - 1]))) : []));
  const onEach = instances.length > 1 ? instances.map((place) => `on ${place}`) : [];
  const numbers = ["score", "gap", "best so far", "gain from adding it", "distance to those above", "same behaviour", ...onEach];
  return tableOf([heading("program"), ...numbers.map((name) => heading(name, true))], members.map(row));
}
