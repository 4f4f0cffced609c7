// The best programs on held-out instances, which neither the search nor the recommendation used.

const HOW_TO_TRY = (run) => `behavesim report ${run} --held-out --html FILE`;

/** The tile of the summary: the recommended program, else the best of the search, on held-out instances. */
function unseenFigure({ held_out: heldOut, has_held_out: hasHeldOut, summary }) {
  if (heldOut === null) return summary.best && hasHeldOut && figure("on unseen instances", "not tried", HOW_TO_TRY(summary.run));
  const isRecommended = summary.recommended !== null;
  const found = isRecommended ? heldOut.recommended : heldOut.best;
  const { candidate } = isRecommended ? summary.recommended : summary.best;
  const gap = found.gap === null ? "" : `gap ${percent(found.gap)}, template ${percent(heldOut.template.gap)}`;
  return figure("gain on unseen instances", percent(found.improvement), h("span", {}, isRecommended ? "recommended, " : "best, ", opener(candidate)), gap);
}

function drawUnseen({ held_out: heldOut, has_held_out: hasHeldOut, summary }) {
  if (heldOut === null && !hasHeldOut) return [nothing("The task has no held-out instances.")];
  if (heldOut === null) return [h("p", { class: "empty" }, "No program was tried on held-out instances. To try them: ", h("code", {}, HOW_TO_TRY(summary.run)))];
  const { template, programs, fallen } = heldOut;
  const format = aligned([template.score, ...programs.flatMap((each) => [each.score, each.search_score])]);
  const mark = (candidate) => [candidate === summary.best?.candidate && "best", candidate === summary.recommended?.candidate && "recommended"].filter(Boolean).join(", ");
  const row = (candidate, cells, reason) => h("tr", {}, h("th", { scope: "row" }, opener(candidate), mark(candidate) && h("strong", {}, ` ${mark(candidate)}`)), cells.map(numberCell), h("td", {}, reason ?? ""));
  const worse = fallen.length ? ` Better than the template in the search, but not here: ${fallen.join(", ")}.` : "";
  return [
    h("p", { class: "note" }, `The ten best programs of the search and the recommended one on held-out instances, which neither the search nor the recommendation used. The gain is relative to the template's score on each instance.${worse}`),
    tableOf([heading("program"), ...["score in the search", "score here", "gap here", "gain on the template"].map((name) => heading(name, true)), heading("failed")], [
      row(TEMPLATE, [summary.template ? format(summary.template.score) : UNKNOWN, format(template.score), percent(template.gap), UNKNOWN], ""),
      ...programs.map((each) => row(each.candidate, [format(each.search_score), format(each.score), percent(each.gap), percent(each.improvement)], each.reason)),
    ]),
  ];
}
