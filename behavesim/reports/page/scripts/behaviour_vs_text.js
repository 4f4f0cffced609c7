// The same programs compared by behaviour and by source: two trees, two heat maps, and the pairs that disagree most.

const BRANCH_COLOURS = [1, 2, 3, 4, 5, 6].map((branch) => `var(--branch-${branch})`);
const METRICS = { codebleu: "CodeBLEU", ast: "syntax trees", rouge: "ROUGE" };

function drawTree(title, tree, branchOf) {
  const forks = tree.across.flatMap((across, fork) => across.map((y, corner) => ({ fork, y, x: tree.up[fork][corner] })));
  const leaves = tree.leaves.map((candidate, index) => ({ candidate, y: 10 * index + 5 }));
  const drawn = plotted({
    width: roomBesideAnother(), height: 40 + 17 * leaves.length, marginLeft: 12, marginRight: 48, marginTop: 8, marginBottom: 36,
    x: { label: "distance", reverse: true, domain: [0, Math.max(tree.height, 0.01)], ticks: 5, nice: true },
    y: { axis: null, domain: [0, 10 * leaves.length], reverse: true },
    marks: [
      Plot.line(forks, { x: "x", y: "y", z: "fork", stroke: "var(--faint)", strokeWidth: 1.25 }),
      Plot.text(leaves, { x: 0, y: "y", text: (each) => String(each.candidate), textAnchor: "start", dx: 6, fill: (each) => BRANCH_COLOURS[branchOf(each.candidate)], fontWeight: 600 }),
    ],
    color: { type: "identity" },
  });
  const marks = [...drawn.querySelectorAll("[aria-label=text] text")];
  asButtons(marks, tree.leaves, inShort);
  return h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, title)), drawn);
}

function drawHeat(title, tree, matrix, placeOf) {
  const cells = tree.leaves.flatMap((a) => tree.leaves.map((b) => ({ a, b, similarity: matrix[placeOf(a)][placeOf(b)] })));
  const names = { domain: tree.leaves, axis: null };
  const words = (each) => `candidates ${each.a} and ${each.b}\nsimilarity ${each.similarity.toFixed(3)}`;
  return h("figure", { class: "chart" }, h("figcaption", { class: "note" }, title), plotted({
    width: roomBesideAnother(), height: roomBesideAnother(), margin: 2, x: names, y: names, color: { scheme: "viridis", domain: [0, 1] }, padding: 0,
    ariaLabel: `Heat map of similarities ${title}`,
    marks: [
      Plot.cell(cells, { x: "a", y: "b", fill: "similarity", inset: 0, shapeRendering: "crispEdges" }),
      Plot.tip(cells, Plot.pointer({ x: "a", y: "b", title: words })),
    ],
  }));
}

/** Open the dialog with both programs of a pair side by side. */
async function openPair({ a, b, behaviour, source }, metric) {
  const sides = await Promise.all([a, b].map(async (candidate) => [candidate, (await textOf(candidate)).source ?? ""]));
  openDialog(`Candidates ${a} and ${b}`,
    h("p", { class: "note" }, `Similarity by behaviour ${behaviour.toFixed(3)}, by ${metric} ${source.toFixed(3)}.`),
    h("div", { class: "pair" }, sides.map(([candidate, text]) =>
      h("div", {}, h("p", {}, opener(candidate), h("span", { class: "note" }, ` score ${score(cellsOf(candidate).score)}`)), code(text)))));
}

/** Highlight all marks of a candidate in an element while one of them is pointed at or has the focus. */
function linked(element) {
  const light = (isLit) => (event) => {
    const { candidate } = event.target.dataset;
    if (candidate === undefined) return;
    for (const mark of element.querySelectorAll(`[data-candidate="${candidate}"]`)) mark.classList.toggle("lit", isLit);
  };
  for (const [on, off] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    element.addEventListener(on, light(true));
    element.addEventListener(off, light(false));
  }
  return element;
}

function drawBehaviourVsText({ behaviour_vs_text }) {
  if (behaviour_vs_text === null) return [nothing("Trees need at least two programs on the run's islands.")];
  const { candidates, branches, by_behaviour: byBehaviour, by_source: bySource, pairs } = behaviour_vs_text;
  const metric = METRICS[behaviour_vs_text.metric];
  const placeOf = (candidate) => candidates.indexOf(candidate);
  const branchOf = (candidate) => branches[placeOf(candidate)];
  return [
    h("p", { class: "note" }, `The same ${candidates.length} programs of the archive, compared by behaviour (left) and by source (right), joined by average linkage. Colours are the branches of the left tree. If a colour is scattered on the right, programs of similar behaviour have different source.`),
    linked(h("div", { class: "pair" },
      drawTree("By behaviour: BehaveSim", byBehaviour, branchOf), drawTree(`By code: ${metric}`, bySource, branchOf),
      drawHeat("by behaviour, in the order of its tree", byBehaviour, behaviour_vs_text.behaviour, placeOf),
      drawHeat(`by ${metric}, in the order of its tree`, bySource, behaviour_vs_text.source, placeOf))),
    h("div", { class: "legend" }, Plot.legend({ color: { scheme: "viridis", domain: [0, 1] }, label: "similarity", width: 260 })),
    h("h3", {}, "Where they disagree most"),
    tableOf(
      [heading("candidates"), heading("BehaveSim", true), heading(metric, true), heading("code")],
      pairs.map((pair) => h("tr", {},
        h("th", { scope: "row" }, opener(pair.a, String(pair.a)), " and ", opener(pair.b, String(pair.b))),
        numberCell(pair.behaviour.toFixed(3)), numberCell(pair.source.toFixed(3)),
        h("td", {}, h("button", { type: "button", click: () => openPair(pair, metric), "aria-label": `Candidates ${pair.a} and ${pair.b} side by side` }, "Side by side")))),
      "narrow"),
  ];
}
