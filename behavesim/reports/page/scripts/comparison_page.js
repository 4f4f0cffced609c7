// The page of a comparison: its sections, for each task.

const PARTS = [["verdict", "Verdict", drawDots], ["curves", "Best so far", drawCurves], ["map", "Behaviours", drawSharedMap], ["alone", "Found by one group alone", drawAlone]];
const SETTLED = 150; // milliseconds after the last change of the window's size until charts are drawn again
const found = JSON.parse(document.getElementById("document").textContent);
let comparedFor = 0;

function drawComparison() {
  comparedFor = room();
  const { title, tasks, tables, made, notes, home } = found;
  const runs = new Set(tasks.flatMap(({ groups }) => groups.flatMap((group) => group.runs))).size;
  document.getElementById("head").replaceChildren(h("h1", {}, title), themeButton(), h("p", { class: "what" }, `${counted(runs, "run")} on ${tasks.map(({ name }) => name).join(", ")}`));
  const sections = tasks.length === 0 ? [h("section", { id: "nothing" }, nothing("There is nothing to compare: choose two runs or more on one task, with different settings or seeds."))] : [];
  const links = home === null ? [] : [h("a", { href: home }, "All runs")];
  tasks.forEach((task, place) => {
    const name = tasks.length > 1 ? ` on ${task.name}` : "";
    for (const [id, words, draw] of PARTS) {
      const at = tasks.length > 1 ? `${id}-${place}` : id;
      sections.push(h("section", { id: at, "aria-labelledby": `${at}-title` }, h("h2", { id: `${at}-title` }, `${words}${name}`), h("div", {}, draw(task))));
      links.push(h("a", { href: `#${at}` }, `${words}${name}`));
    }
  });
  if (tables.length) {
    sections.push(h("section", { id: "tables", "aria-labelledby": "tables-title" }, h("h2", { id: "tables-title" }, "Tables"), tables.map(drawTable)));
    links.push(h("a", { href: "#tables" }, "Tables"));
  }
  sections.push(h("section", { id: "making", "aria-labelledby": "making-title" }, h("h2", { id: "making-title" }, "How the runs were made"), drawCommands(made)));
  links.push(h("a", { href: "#making" }, "How the runs were made"));
  document.getElementById("contents").replaceChildren(...links);
  document.getElementById("main").replaceChildren(...notes.map((note) => h("p", { class: "note" }, `${note[0].toUpperCase()}${note.slice(1)}.`)), ...sections);
}

let resizing = null;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => comparedFor !== room() && drawComparison(), SETTLED);
});
drawComparison();
