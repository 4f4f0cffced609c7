// The ancestors of a program as a chart, and the line of the best program as a table.

function drawLineage(found) {
  const { lineage } = found;
  const format = aligned(lineage.map((each) => each.score));
  const others = (each, before) => each.parents.filter((parent) => parent !== before?.candidate);
  const row = (each, index) => h("tr", {},
    h("th", { scope: "row" }, opener(each.candidate)),
    numberCell(format(each.score)), numberCell(percent(each.gap)),
    h("td", {}, each.operator), h("td", {}, each.group ?? ""),
    h("td", {}, [...new Set(others(each, lineage[index - 1]))].flatMap((parent, place) => [place ? ", " : "", opener(parent, parent === TEMPLATE ? "the template" : String(parent))])));
  const tree = h("div", {});
  drawGenealogy = () => tree.replaceChildren(...genealogy(shown));
  drawGenealogy();
  return [
    tree,
    h("h3", {}, "The line of the best"),
    h("p", { class: "note" }, `From the first program to the best in ${counted(lineage.length - 1, "step")}, each from the better of its parents.`),
    tableOf([heading("program"), heading("score", true), heading("gap", true), heading("operator"), heading("island"), heading("its other parents")], lineage.map(row)),
  ];
}
