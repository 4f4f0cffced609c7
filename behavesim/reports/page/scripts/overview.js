// The head of the page, the summary, the convergence curve, the best programs and the failures.

function drawHead({ summary, state_text: stateText, task, made }) {
  document.getElementById("head").replaceChildren(
    h("h1", {}, summary.run),
    h("span", { class: `state ${summary.state}` }, stateText),
    summary.state === "running" ? h("span", { class: "note" }, `as of ${moment(made.last_at)}`) : "",
    themeButton(),
    h("p", { class: "what" }, [task, summary.method, summary.proposer, `seed ${summary.seed}`].join(" · ")),
  );
}

function figure(name, value, ...small) {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value, ...small.filter(Boolean).map((text) => h("small", {}, text))));
}

const inAndOut = ({ prompt, completion }) => `${count(prompt)} in, ${count(completion)} out`;

function drawSummary(found) {
  const { summary, objective, distinct, sentence, rejections, certainty, notes, budget } = found;
  const { best, template, recommended, tokens, estimated } = summary;
  const sense = objective.direction === "minimise" ? "lower is better" : "higher is better";
  const known = objective.best_known === null ? "no best is known" : `best known ${score(objective.best_known)}`;
  const rejected = d3.sum(Object.values(summary.rejected));
  const open = summary.asked - summary.feasible - rejected;
  const none = summary.state === "finished" ? "none" : "none yet";
  const spent = [estimated?.cost_usd != null && `with estimates ${dollars(estimated.cost_usd)}`, summary.unanswered > 0 && `${count(summary.unanswered)} unanswered`];
  const asks = tokens.prompt !== 0 || tokens.completion !== 0;
  return [
    h("dl", { class: "figures" },
      figure(summary.gain > 0 || !template || !best ? "best score" : "best candidate's score", best ? score(best.score) : none, best && opener(best.candidate), objective.unit, `${sense}, ${known}`),
      best && objective.best_known !== null && figure("gap to the best known", percent(best.gap), `ten best: ${percent(summary.top10_gap)}`),
      template && figure("better than the template", summary.gain > 0 ? betterBy(summary) : none, `template ${score(template.score)}`, summary.gain < 0 && `best candidate ${betterBy(summary)} worse`),
      unseenFigure(found),
      figure("candidates", count(summary.asked), `of ${count(Math.max(budget, summary.asked))}`, `${count(summary.feasible)} feasible, ${count(rejected)} rejected${open ? `, ${count(open)} open` : ""}`),
      figure("different behaviours", count(distinct.behaviours), `in ${count(distinct.programs)} different programs`),
      recommended && figure("recommended", score(recommended.score), opener(recommended.candidate), `${score(recommended.validation_score)} on validation instances`),
      asks && figure("tokens", tokens.prompt === null ? "unknown" : count(tokens.prompt + tokens.completion), tokens.prompt !== null && inAndOut(tokens), estimated && `with estimates ${inAndOut(estimated)}`),
      (asks || summary.cost_usd !== 0 || summary.unanswered > 0) && figure("cost", summary.cost_usd === null ? "unknown" : dollars(summary.cost_usd), ...spent),
      figure("time", duration(summary.seconds)),
      figure("scores", summary.score_source, summary.score_source === "trusted" ? "computed outside the sandbox" : "by an evaluator that programs run beside, and could change", `isolation ${summary.isolation}`),
    ),
    ...[best && sentence, rejections && `rejected: ${rejections}`, ...certainty, ...notes].filter(Boolean).map((text) => h("p", { class: "note" }, `${text[0].toUpperCase()}${text.slice(1)}.`)),
  ];
}

/** How much the best differs from the template, in per cent of the template's score; in its unit where that is 0. */
function betterBy({ gain, template }) {
  return template.score === 0 ? score(Math.abs(gain)) : percent(Math.abs(gain), 1);
}

function drawTop({ top, candidates }) {
  const format = aligned(top.map((each) => each.score));
  const entry = (each) => {
    const place = candidates.candidate.indexOf(each.candidate);
    const body = h("div", {});
    const fill = async () => body.childElementCount || body.append(await programTabs(each.source, candidates.parents[place]));
    const more = each.programs > 1 ? ` · ${each.programs} programs with this behaviour` : "";
    return h("li", {}, h("details", { toggle: fill },
      h("summary", {}, h("span", {}, each.rank), h("strong", { class: "number" }, format(each.score)),
        h("span", { class: "number" }, each.gap === null ? "" : percent(each.gap)),
        h("span", { class: "note" }, `candidate ${each.candidate} · ${origin(cellsOf(each.candidate))}${more}`)),
      body));
  };
  return [
    h("p", { class: "note" }, "The best program of each of the ten best behaviours: rank, score, gap, and where it comes from. Programs share a rank if their scores differ by no more than chance. Open one to see its code and the changes since its parents."),
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
