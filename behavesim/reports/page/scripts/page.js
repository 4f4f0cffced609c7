// The page: its charts, in the light or the dark; what opens programs; and `behavesim.render(page)`, which shows a newer one.

const DRAWN = { candidates: candidatesTable(), replay: replay() }; // sections that scripts make
const views = new Map(); // the charts' views, by name
const root = document.documentElement;
const isDark = () => (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** A chart's specification as wide as its place, in the colours of the theme. */
function specification(name, place) {
  const text = JSON.stringify(shown.charts[name]);
  const spec = JSON.parse(isDark() ? text.replace(/#[0-9a-f]{6}/g, (colour) => shown.dark[colour] ?? colour) : text);
  const height = Math.min(shown.heights[name], Math.max(220, place.clientWidth));
  return { ...spec, width: "container", height, autosize: { type: "fit", contains: "padding" } };
}

/** The candidates in the span that a reader marked on a chart; none where nothing is marked. */
function inside(spec, view, marked) {
  const fields = Object.entries(marked ?? {});
  if (!fields.length) return [];
  const chosen = (field) => ({ x: ["across", "along"], y: ["up"] })[field]?.find((each) => spec.params.some(({ name }) => name === each));
  const ends = fields.map(([field, span]) => [chosen(field) ? view.signal(chosen(field)) : field, Math.min(...span), Math.max(...span)]);
  const layer = spec.layer.find(({ params }) => params?.some(({ name }) => name === "brush"));
  const rows = (layer.data ?? spec.data).values;
  return rows.filter((row) => ends.every(([field, low, high]) => row[field] >= low && row[field] <= high)).map(({ candidate }) => candidate);
}

/** Mark the same programs in all charts. */
function mark(candidates) {
  for (const view of views.values()) if ("chosen" in view.getState().signals) view.signal("chosen", candidates).runAsync();
}

/** Draw a specification, whose points open their programs; return its view. */
async function draw(place, spec, name) {
  const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
  const { view } = await vegaEmbed(place, spec, { mode: "vega-lite", ast: true, renderer: "svg", logLevel: 1, actions, downloadFileName: name, tooltip: { theme: isDark() ? "dark" : "light" } });
  view.addEventListener("click", (_, item) => item?.datum?.candidate !== undefined && openProgram(item.datum.candidate));
  return view;
}

/** Draw a program and its feasible ancestors as the genealogy of the best is drawn. */
function drawAncestors(place, candidate) {
  const spec = specification("genealogy", place);
  const { field } = spec.encoding.y;
  const rows = ancestorsOf(candidate).map((each) => ({ ...each, gap: each.gap == null ? null : 100 * each.gap }));
  const worth = new Map(rows.map((row) => [row.candidate, row[field]]));
  const ties = rows.flatMap((row) => row.parents.filter((up) => worth.has(up)).map((up) => ({ candidate: up, [field]: worth.get(up), child: row.candidate, worth: row[field] })));
  [spec.layer[0].data.values, spec.layer[1].data.values] = [ties, rows];
  return draw(place, { ...spec, description: `Ancestors of ${named(candidate)}` }, `ancestors-${candidate}`);
}

async function drawChart(place) {
  const name = place.dataset.chart;
  const spec = specification(name, place);
  views.get(name)?.finalize();
  const view = await draw(place, spec, name);
  views.set(name, view);
  if ("brush" in view.getState().signals) view.addSignalListener("brush", (_, marked) => mark(inside(spec, view, marked)));
}

/** Draw the charts in an element one after the other, so that the page answers before the first and between two. */
async function drawCharts(element) {
  for (const place of element.querySelectorAll("[data-chart]")) {
    await new Promise((then) => setTimeout(then));
    if (place.isConnected) await drawChart(place); // else a newer page came meanwhile
  }
}

/** Fill what scripts make in an element: highlighted programs, buttons that copy, tables and charts. */
function fill(element) {
  for (const each of element.querySelectorAll("[data-code]")) {
    const source = each.textContent;
    const opened = Number(each.dataset.of);
    wholeTextOf(opened).then((text) => programTabs(source, cellsOf(opened).parents, text)).then((tabs) => each.replaceWith(h("div", { class: "best" }, h("div", { class: "controls" }, copyButton(source, "the program")), tabs)));
  }
  for (const each of element.querySelectorAll(".command")) each.append(copyButton(each.textContent, "the command"));
  for (const each of element.querySelectorAll("[data-script]")) each.replaceChildren(...DRAWN[each.dataset.script](shown));
  return drawCharts(element);
}

function addThemeButton() {
  const toggle = (event) => {
    root.style.colorScheme = isDark() ? "light" : "dark";
    event.currentTarget.setAttribute("aria-pressed", isDark());
    drawCharts(document);
  };
  document.querySelector("h1").after(h("button", { type: "button", "aria-pressed": isDark(), click: toggle }, "Dark"));
}

/** Show a newer page in place of the one before; sections that are the same stay as their reader left them. */
function render({ title, head, sections, data }) {
  [shown, texts] = [data, null];
  document.title = `${title} · behavesim`;
  document.getElementById("head").innerHTML = head; // made by the server, which escapes what is in a run, as below
  addThemeButton();
  const [main, contents] = ["main", "contents"].map((id) => document.getElementById(id));
  const links = Object.keys(sections).map((name) => h("a", { href: `#${name}` }, name.replaceAll(/[_-]/g, " ")));
  contents.replaceChildren(...contents.querySelectorAll("a:not([href^='#'])"), ...links);
  Object.entries(sections).forEach(([name, [words, body, version]], place) => {
    const section = document.getElementById(name) ?? h("section", { id: name, "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }), h("div"));
    if (main.children[place] !== section) main.insertBefore(section, main.children[place] ?? null);
    if (section.dataset.version === version) return;
    section.dataset.version = version;
    section.querySelector("h2").textContent = words[0].toUpperCase() + words.slice(1);
    if (!section.querySelector("[data-script]")) section.querySelector(":scope > div").innerHTML = body;
    fill(section);
  });
  for (const section of [...main.children]) if (!(section.id in sections)) section.remove();
}

// Paper is light. Charts are drawn without a pause here: what waits for a timer would come after the printing.
let screenScheme = null;
addEventListener("beforeprint", () => {
  if (!isDark()) return;
  [screenScheme, root.style.colorScheme] = [root.style.colorScheme, "light"];
  document.querySelectorAll("[data-chart]").forEach(drawChart);
});
addEventListener("afterprint", () => {
  if (screenScheme === null) return;
  [root.style.colorScheme, screenScheme] = [screenScheme, null];
  drawCharts(document);
});

shown = JSON.parse(document.getElementById("document").textContent);
globalThis.behavesim = { render, ready: null };
document.addEventListener("click", ({ target }) => {
  const opened = target.closest?.("button[data-candidate]");
  if (opened) openProgram(Number(opened.dataset.candidate));
});
addThemeButton();
globalThis.behavesim.ready = fill(document);
addEventListener("hashchange", openNamed);
openNamed();
