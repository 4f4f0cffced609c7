// The table of all candidates: sorted, filtered and searched. Only rows in view are elements, as there may be 10 000.

const ROW = 31; // height of a row in pixels, as in the style sheet
const IN_VIEW = 18; // largest number of rows in view, as in the style sheet
const BEYOND = 8; // rows drawn above and below those in view
const COLUMNS = [
  ["candidate", "candidate", "6.5rem", true], ["score", "score", "7rem", true], ["gap", "gap", "6rem", true],
  ["status", "status", "6rem"], ["group", "island", "6.5rem"], ["operator", "operator", "8rem"], ["parents", "parents", "7rem"],
  ["model", "model", "8rem"], ["reason", "rejected for", "10rem"],
];
const FILTERS = ["status", "group", "operator", "model", "reason"];
const METRIC = "metric:"; // begins the names of the metrics' columns, which would else hide others
const METRIC_REM = 7; // width of a metric's column
const called = (name) => (name === "group" ? "island" : name); // the journal calls an island a group

/** Return the table's drawing function; order, filters and search stay when a newer document is shown. */
function candidatesTable() {
  let sorted = { column: "candidate", isDown: false };
  let places = [];
  let columns = null;
  let sources = null; // the texts of all candidates in lower case; null until the first search
  let format = score;
  let shownColumns = COLUMNS; // those of the candidates, and one for each metric

  const search = h("input", { type: "search", placeholder: "Search numbers and programs", "aria-label": "Search candidates", input: () => find() });
  const selects = Object.fromEntries(FILTERS.map((name) => [name, h("select", { "aria-label": `Filter by ${called(name)}`, change: () => refresh() })]));
  const total = h("output", { "aria-live": "polite" });
  const body = h("tbody");
  const headOf = ([name, title, width, isNumber]) =>
    h("th", { scope: "col", class: isNumber ? "number" : "", style: `width: ${width}`, title }, h("button", { type: "button", click: () => sort(name) }, title));
  let heads = COLUMNS.map(headOf);
  const headRow = h("tr", {}, heads);
  const grid = h("table", {}, h("caption", { hidden: true }, "All candidates"), h("thead", {}, headRow), body);
  const view = h("div", { class: "rows", tabindex: 0, scroll: () => draw() }, grid);
  const element = h("div", {}, h("div", { class: "controls" }, search, Object.values(selects), total), view);

  function sort(column) {
    sorted = { column, isDown: sorted.column === column && !sorted.isDown };
    refresh();
  }

  async function find() {
    sources ??= (await unpackedTexts()).slice(1).map((text) => (text ? text.slice(0, 3).join("\n").toLowerCase() : ""));
    refresh();
  }

  function refresh() {
    const words = search.value.trim().toLowerCase();
    const wanted = FILTERS.filter((name) => selects[name].value !== "").map((name) => [columns[name], selects[name].value]);
    const values = columns[sorted.column];
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (sorted.isDown ? -1 : 1);
    const isMetric = sorted.column.startsWith(METRIC);
    // behind the numbers of a metric come its words, such as "nan": what is not finite is never the best
    const isKnown = (value) => (isMetric ? (typeof value === "number" ? 2 : Number(value != null)) : Number(value !== null && value !== undefined && value.length !== 0));
    places = [...columns.candidate.keys()]
      .filter((place) => wanted.every(([column, value]) => String(column[place]) === value))
      .filter((place) => !words || String(columns.candidate[place]) === words || (sources?.[place] ?? "").includes(words))
      .sort((a, b) => isKnown(values[b]) - isKnown(values[a]) || order(values[a], values[b]) || a - b);
    heads.forEach((head, index) => {
      if (shownColumns[index][0] === sorted.column) head.setAttribute("aria-sort", sorted.isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    grid.setAttribute("aria-rowcount", places.length + 1);
    total.textContent = places.length === columns.candidate.length ? counted(places.length, "candidate") : `${count(places.length)} of ${counted(columns.candidate.length, "candidate")}`;
    draw();
  }

  function cell(name, place) {
    const value = columns[name][place];
    if (name.startsWith(METRIC)) return inWords(value);
    if (name === "candidate") return opener(value, String(value));
    if (name === "score") return value === null ? "" : format(value);
    if (name === "gap") return value === null ? "" : percent(value);
    if (name === "parents") return value.map((parent) => (parent === TEMPLATE ? "template" : parent)).join(", ");
    return value ?? "";
  }

  function row(place, index) {
    const cells = shownColumns.map(([name, , , isNumber]) => h("td", { class: isNumber ? "number" : "" }, cell(name, place)));
    return h("tr", { "aria-rowindex": index + 2 }, cells);
  }

  const spacer = (rows) => h("tr", { class: "spacer", "aria-hidden": true }, h("td", { colspan: shownColumns.length, style: `height: ${rows * ROW}px` }));

  function draw() {
    const first = Math.max(0, Math.floor(view.scrollTop / ROW) - BEYOND);
    const last = Math.min(places.length, first + IN_VIEW + 2 * BEYOND);
    const rows = places.slice(first, last).map((place, index) => row(place, first + index));
    const focused = body.contains(document.activeElement) ? document.activeElement.textContent : null;
    body.replaceChildren(spacer(first), ...rows, spacer(places.length - last));
    if (focused !== null) [...body.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus({ preventScroll: true });
  }

  function options(name) {
    const chosen = selects[name].value;
    const values = [...new Set(columns[name].filter((value) => value !== null))].sort((a, b) => (a < b ? -1 : 1));
    selects[name].replaceChildren(h("option", { value: "" }, `any ${called(name)}`), ...values.map((value) => h("option", { value, selected: String(value) === chosen }, value)));
    selects[name].hidden = values.length < 2;
  }

  function update(found) {
    const metrics = found.metrics.map(({ name, values }) => [METRIC + name, name, values]);
    columns = { ...found.candidates, ...Object.fromEntries(metrics.map(([id, , values]) => [id, values])) };
    const before = shownColumns;
    const all = [...COLUMNS.slice(0, 3), ...metrics.map(([id, name]) => [id, name, `${METRIC_REM}rem`, true]), ...COLUMNS.slice(3)]; // behind the gap
    shownColumns = all.filter(([id]) => id === "candidate" || columns[id].some((value) => value !== null && value.length !== 0));
    if (String(before) !== String(shownColumns)) {
      heads = shownColumns.map(headOf);
      headRow.replaceChildren(...heads);
      grid.style.minWidth = `${46 + METRIC_REM * metrics.length}rem`;
      if (!columns[sorted.column]) sorted = { column: "candidate", isDown: false };
    }
    sources = null;
    format = aligned(columns.score);
    FILTERS.forEach(options);
    if (search.value) find();
    else refresh();
    return [element];
  }

  return update;
}
