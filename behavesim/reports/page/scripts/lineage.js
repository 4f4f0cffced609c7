// How the best program came about.

function drawLineage({ lineage }) {
  if (!lineage.length) return [nothing("No candidate is feasible yet.")];
  const format = aligned(lineage.map((each) => each.score));
  const head = (name, isNumber) => h("th", { scope: "col", class: isNumber ? "number" : "" }, name);
  const others = (each, before) => each.parents.filter((parent) => parent !== before?.candidate);
  const row = (each, index) => h("tr", {},
    h("th", { scope: "row" }, opener(each.candidate)),
    h("td", { class: "number" }, format(each.score)), h("td", { class: "number" }, percent(each.gap)),
    h("td", {}, each.operator), h("td", {}, each.group ?? ""),
    h("td", {}, [...new Set(others(each, lineage[index - 1]))].flatMap((parent, place) => [place ? ", " : "", opener(parent, parent === TEMPLATE ? "the template" : String(parent))])));
  return [
    h("p", { class: "note" }, `From the first program to the best in ${counted(lineage.length - 1, "step")}, each from the better of its parents.`),
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, head("program"), head("score", true), head("gap", true), head("operator"), head("group"), head("its other parents"))),
      h("tbody", {}, lineage.map(row)))),
  ];
}
