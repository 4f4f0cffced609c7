// The head of the page, the summary, the convergence curve, the best programs and the failures.

function drawHead({ summary, stands }) {
  document.getElementById("head").replaceChildren(
    h("h1", {}, summary.run),
    h("span", { class: `state ${summary.state}` }, stands),
    themeButton(),
    h("p", { class: "what" }, [summary.task, summary.method, summary.proposer, `seed ${summary.seed}`].join(" · ")),
  );
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () => {
    const scheme = root.style.colorScheme;
    return scheme ? scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const toggle = (event) => {
    root.style.colorScheme = isDark() ? "light" : "dark";
    event.currentTarget.setAttribute("aria-pressed", isDark());
  };
  return h("button", { type: "button", "aria-pressed": isDark(), click: toggle }, "Dark");
}

function figure(name, value, ...small) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value, ...small.filter(Boolean).map((text) => h("small", {}, text))));
}

function drawSummary({ summary, objective, distinct, sentence, notes, budget }) {
  const { best, template, recommended, tokens } = summary;
  const sense = objective.direction === "minimise" ? "lower is better" : "higher is better";
  const known = objective.best_known === null ? "no best is known" : `best known ${score(objective.best_known)}`;
  const rejections = d3.sum(Object.values(summary.rejected));
  const spent = [summary.estimated ? "with estimates" : "", summary.unanswered ? `${count(summary.unanswered)} unanswered` : ""];
  const asks = tokens.prompt !== 0 || tokens.completion !== 0;
  return [
    h("dl", { class: "figures" },
      figure("best score", best ? score(best.score) : "none yet", best && opener(best.candidate), `${sense}, ${known}`),
      figure("gap to the best known", best ? percent(best.gap) : UNKNOWN, `ten best: ${percent(summary.top10_gap)}`),
      figure("gain over the template", summary.gain === null ? UNKNOWN : score(summary.gain), template && `template ${score(template.score)}`),
      figure("candidates", count(summary.asked), `of ${count(Math.max(budget, summary.asked))}`, `${count(summary.feasible)} feasible, ${count(rejections)} rejected`),
      figure("different behaviours", count(distinct.behaviours), `in ${count(distinct.programs)} different programs`),
      recommended && figure("recommended", score(recommended.score), opener(recommended.candidate), `${score(recommended.validation_score)} on validation instances`),
      asks && figure("tokens", count(tokens.prompt === null ? null : tokens.prompt + tokens.completion), `${count(tokens.prompt)} in, ${count(tokens.completion)} out`),
      figure("cost", summary.cost_usd === null ? "unknown" : dollars(summary.cost_usd), ...spent),
      figure("time", duration(summary.seconds), `isolation ${summary.isolation}`),
    ),
    ...[sentence, ...notes].map((text) => h("p", { class: "note" }, `${text[0].toUpperCase()}${text.slice(1)}.`)),
  ];
}

function drawConvergence({ convergence, objective }) {
  const byGap = convergence.some((each) => each.gap !== null);
  const best = byGap ? "gap" : "score";
  const known = convergence.filter((each) => each[best] !== null);
  if (!known.length) return [nothing("No candidate is feasible yet, so there is no score to show.")];
  const scale = byGap ? 100 : 1;
  // The first programs may be so bad that the rest of the curve would be a flat line: the axis leaves them out.
  const values = known.flatMap((each) => (byGap ? [each.gap, each.top10_gap] : [each.score])).map((value) => scale * value);
  const isLess = byGap || objective.direction === "minimise";
  const [worst, finest] = [d3.quantile(values, isLess ? 0.95 : 0.05), isLess ? d3.min(values) : d3.max(values)];
  const at = (name) => (each) => (each[name] === null ? null : scale * each[name]);
  const last = known.at(-1);
  const words = byGap ? `gap ${percent(last.gap)}, ten best ${percent(last.top10_gap)}` : `best score ${score(last.score)}`;
  const tip = (each) => `after ${each.asked} candidates\nbest ${score(each.score)}${byGap ? `, gap ${percent(each.gap)}\nten best ${percent(each.top10_gap)}` : ""}`;
  const drawn = {
    height: 320, marginLeft: 56, marginRight: 24, marginBottom: 44,
    x: { label: "candidates", domain: [0, convergence.at(-1).asked], tickFormat: "d" },
    y: { label: byGap ? "gap to the best known, %" : "best score", grid: true, nice: true, domain: d3.extent([worst, finest, ...(byGap ? [0] : [])]) },
    marks: [
      byGap ? Plot.line(known, { x: "asked", y: at("top10_gap"), stroke: "var(--second)", strokeWidth: 2, strokeDasharray: "5 3", curve: "step-after", clip: true }) : null,
      Plot.line(known, { x: "asked", y: at(best), stroke: "var(--best)", strokeWidth: 2.25, curve: "step-after", clip: true }),
      Plot.ruleX(known, Plot.pointerX({ x: "asked", py: at(best), stroke: "var(--faint)" })),
      Plot.tip(known, Plot.pointerX({ x: "asked", y: at(best), title: tip })),
    ],
  };
  const lines = byGap ? [["var(--best)", "best program"], ["var(--second)", "mean of the ten best programs", true]] : [["var(--best)", "best program"]];
  return [chart(`Convergence over ${last.asked} candidates, in the end ${words}`, drawn, legend(lines))];
}

const nothing = (why) => h("p", { class: "empty" }, why);

function drawTop({ top, candidates }) {
  if (!top.length) return [nothing("No candidate is feasible yet.")];
  const format = aligned(top.map((each) => each.score));
  const entry = (each, rank) => {
    const place = candidates.candidate.indexOf(each.candidate);
    const body = h("div", {});
    const fill = async () => body.childElementCount || body.append(await programTabs(each.source, candidates.parents[place]));
    const more = each.programs > 1 ? ` · ${each.programs} programs with this behaviour` : "";
    return h("li", {}, h("details", { toggle: fill },
      h("summary", {}, h("span", {}, rank + 1), h("strong", { class: "number" }, format(each.score)),
        h("span", { class: "number" }, percent(each.gap)),
        h("span", { class: "note" }, `candidate ${each.candidate} · ${origin(cellsOf(each.candidate))}${more}`)),
      body));
  };
  return [
    h("p", { class: "note" }, "The best program of each of the ten best behaviours: rank, score, gap, and where it comes from. Open one to see its code and the changes since its parents."),
    h("ol", { class: "ranked" }, top.map(entry)),
  ];
}

function drawFailures({ failures }) {
  if (!failures.length) return [nothing("No candidate was rejected.")];
  return [tableOf(
    [heading("reason"), heading("stage"), heading("candidates", true), heading("share", true), heading("an example")],
    failures.map((each) => h("tr", {}, h("th", { scope: "row" }, each.reason), h("td", {}, each.stage),
      numberCell(count(each.count)), numberCell(percent(each.share, 1)),
      h("td", {}, opener(each.candidate), h("div", { class: "message" }, each.example)))),
  )];
}
