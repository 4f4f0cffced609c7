// The best program's code beside the template's.

function drawBest({ summary }) {
  const { best, template, recommended } = summary;
  const panels = h("div", { class: "pair code" });
  const panel = (candidate, title, { score: worth, gap }, source) => h("div", {},
    h("header", {}, h("h3", {}, title, " ", h("span", { class: "note" }, `score ${score(worth)}${gap === null ? "" : `, gap ${percent(gap)}`}`)), copyButton(trimmed(source), named(candidate))),
    code(source));
  unpackedTexts().then((texts) => panels.replaceChildren(
    texts[0]?.[0] && template ? panel(TEMPLATE, "Template", template, texts[0][0]) : "",
    panel(best.candidate, `${summary.gain > 0 || !template ? "Best" : "Best candidate"}: candidate ${best.candidate}`, best, texts[best.candidate + 1][0] ?? "")));
  const other = recommended && recommended.candidate !== best.candidate
    ? h("p", { class: "note" }, "Recommended, by its gain on instances that the search did not use, is another program: ", opener(recommended.candidate), ".") : "";
  return [other, panels];
}
