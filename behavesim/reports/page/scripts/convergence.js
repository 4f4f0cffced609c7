// The scores of all candidates over the course of the run, the best so far, and the mean of the ten best.

const DOTS = 2000; // largest number of candidates drawn as dots; more would make the page slow

/** The axis of scores: from the finest to half as far again as the template, or to nine of ten candidates if nearer. */
function scoreDomain(values, template, best, isLess) {
  const [finest, tenth] = isLess ? [d3.min(values), d3.quantile(values, 0.9)] : [d3.max(values), d3.quantile(values, 0.1)];
  const start = best === null ? finest : isLess ? Math.min(best, finest) : Math.max(best, finest);
  const beyond = template === null ? tenth : template + 0.5 * (template - start);
  const worst = isLess ? Math.min(Math.max(beyond, finest), Math.max(tenth, template ?? tenth)) : Math.max(Math.min(beyond, finest), Math.min(tenth, template ?? tenth));
  const ends = d3.extent([start, worst]);
  const margin = 0.05 * (ends[1] - ends[0]) || Math.abs(ends[0]) * 0.1 || 1;
  return isLess ? [ends[0], ends[1] + margin] : [ends[0] - margin, ends[1]];
}

function drawConvergence({ convergence, improvements, candidates, objective, summary }) {
  if (!improvements.length) return [nothing("No candidate is registered yet.")];
  const byGap = improvements[0].gap !== null;
  const asked = convergence.at(-1).asked;
  const worth = (each) => (byGap ? 100 * each.gap : each.score);
  const places = d3.range(asked).filter((place) => candidates.score[place] !== null);
  const dots = places.map((place) => ({ candidate: candidates.candidate[place], asked: place + 1, score: candidates.score[place], gap: candidates.gap[place] }));
  const template = summary.template && worth(summary.template);
  const best = byGap ? 0 : objective.best_known;
  const isLess = byGap || objective.direction === "minimise";
  const domain = scoreDomain(dots.map(worth), template, best, isLess);
  const isInside = (each) => worth(each) >= domain[0] && worth(each) <= domain[1];
  const edge = (each) => Math.min(domain[1], Math.max(domain[0], worth(each)));
  const some = thinned(dots, DOTS);
  const steps = [...improvements, { ...improvements.at(-1), asked }];
  const ten = byGap ? convergence.filter((each) => each.top10_gap !== null) : [];
  const last = convergence.at(-1);
  const words = byGap ? `gap ${percent(last.gap)}, ten best ${percent(last.top10_gap)}` : `best score ${score(last.score)}`;
  const drawn = {
    height: 340, marginLeft: 56, marginRight: 24, marginBottom: 44,
    x: { label: "candidates", domain: [0, asked], ticks: wholeTicks(0, asked), tickFormat: count },
    y: { label: byGap ? "gap to the best known, %" : scoreTitle(objective), grid: true, domain },
    marks: [
      Plot.dot(some.filter(isInside), { x: "asked", y: worth, r: 2, fill: "var(--faint)", fillOpacity: 0.6 }),
      Plot.vector(some.filter((each) => !isInside(each)), { x: "asked", y: edge, shape: "spike", anchor: "end", length: 8, r: 2, rotate: isLess ? 0 : 180, stroke: "var(--faint)", strokeOpacity: 0.6, fill: "none" }),
      template === null ? null : Plot.ruleY([template], { stroke: "var(--third)", strokeWidth: 1.5, strokeDasharray: "2 3" }),
      best === null ? null : Plot.ruleY([best], { stroke: "var(--ink)", strokeWidth: 1.5, strokeDasharray: "8 3" }),
      Plot.line(ten, { x: "asked", y: (each) => 100 * each.top10_gap, stroke: "var(--second)", strokeWidth: 2, strokeDasharray: "5 3", curve: "step-after", clip: true }),
      Plot.line(steps, { x: "asked", y: worth, stroke: "var(--best)", strokeWidth: 2.25, curve: "step-after", clip: true }),
      Plot.dot(improvements.filter(isInside), { x: "asked", y: worth, r: 3.5, fill: "var(--best)" }),
      Plot.tip(dots, Plot.pointer({ x: "asked", y: edge, title: (each) => inShort(each.candidate) })),
    ],
  };
  const lines = [["var(--best)", "best program so far"], byGap && ["var(--second)", "mean of the ten best programs", "dashed"], template !== null && ["var(--third)", "template", "dashed"], best !== null && ["var(--ink)", "best known", "dashed"]];
  const beyond = dots.filter((each) => !isInside(each)).length;
  const left = beyond ? ` ${counted(beyond, "program")} beyond the axis ${beyond === 1 ? "is a spike" : "are spikes"} on its edge.` : "";
  return [
    chart(`Convergence over ${last.asked} candidates, in the end ${words}`, drawn, legend(lines.filter(Boolean))),
    h("p", { class: "note" }, `A dot is a feasible candidate.${dots.length > DOTS ? ` About ${count(DOTS)} of ${count(dots.length)} are drawn.` : ""}${left}`),
  ];
}
