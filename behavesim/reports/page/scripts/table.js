// The table of all candidates: sorted, filtered and searched. Only rows in view are elements, as there may be 10 000.

const ROW = 31; // height of a row in pixels, as in the style sheet
const BEYOND = 8; // rows drawn above and below those in view
const COLUMNS = [
  ["candidate", "candidate", "6.5rem", true], ["score", "score", "7rem", true], ["gap", "gap", "6rem", true],
  ["status", "status", "6rem"], ["group", "group", "5rem"], ["operator", "operator", "8rem"], ["parents", "parents", "7rem"],
  ["model", "model", "8rem"], ["reason", "rejected for", "10rem"],
];
const FILTERS = ["status", "group", "operator", "model", "reason"];

/** Return the table's drawing function; order, filters and search stay when a newer document is shown. */
function candidatesTable() {
  let sorted = { column: "candidate", isDown: false };
  let places = [];
  let columns = null;
  let sources = null; // the texts of all candidates in lower case; null until the first search
  let format = score;

  const search = h("input", { type: "search", placeholder: "Search numbers and programs", "aria-label": "Search candidates", input: () => find() });
  const selects = Object.fromEntries(FILTERS.map((name) => [name, h("select", { "aria-label": `Filter by ${name}`, change: () => refresh() })]));
  const total = h("output", { "aria-live": "polite" });
  const body = h("tbody");
  const heads = COLUMNS.map(([name, title, width, isNumber]) =>
    h("th", { scope: "col", class: isNumber ? "number" : "", style: `width: ${width}` }, h("button", { type: "button", click: () => sort(name) }, title)));
  const grid = h("table", {}, h("caption", { hidden: true }, "All candidates"), h("thead", {}, h("tr", {}, heads)), body);
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
    const order = sorted.isDown ? d3.descending : d3.ascending;
    const isKnown = (value) => value !== null && value !== undefined && value.length !== 0;
    places = d3.range(columns.candidate.length)
      .filter((place) => wanted.every(([column, value]) => String(column[place]) === value))
      .filter((place) => !words || String(columns.candidate[place]) === words || (sources?.[place] ?? "").includes(words))
      .sort((a, b) => isKnown(values[b]) - isKnown(values[a]) || order(values[a], values[b]) || a - b);
    heads.forEach((head, index) => {
      if (COLUMNS[index][0] === sorted.column) head.setAttribute("aria-sort", sorted.isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    grid.setAttribute("aria-rowcount", places.length + 1);
    total.textContent = places.length === columns.candidate.length ? counted(places.length, "candidate") : `${count(places.length)} of ${counted(columns.candidate.length, "candidate")}`;
    draw();
  }

  function cell(name, place) {
    const value = columns[name][place];
    if (name === "candidate") return opener(value, String(value));
    if (name === "score") return value === null ? "" : format(value);
    if (name === "gap") return value === null ? "" : percent(value);
    if (name === "parents") return value.map((parent) => (parent === TEMPLATE ? "template" : parent)).join(", ");
    return value ?? "";
  }

  function row(place, index) {
    const cells = COLUMNS.map(([name, , , isNumber]) => h("td", { class: isNumber ? "number" : "" }, cell(name, place)));
    return h("tr", { "aria-rowindex": index + 2 }, cells);
  }

  const spacer = (rows) => h("tr", { class: "spacer", "aria-hidden": true }, h("td", { colspan: COLUMNS.length, style: `height: ${rows * ROW}px` }));

  function draw() {
    const first = Math.max(0, Math.floor(view.scrollTop / ROW) - BEYOND);
    const last = Math.min(places.length, first + Math.ceil((view.clientHeight || 600) / ROW) + 2 * BEYOND);
    const rows = places.slice(first, last).map((place, index) => row(place, first + index));
    body.replaceChildren(spacer(first), ...rows, spacer(places.length - last));
  }

  function options(name) {
    const chosen = selects[name].value;
    const values = [...new Set(columns[name].filter((value) => value !== null))].sort(d3.ascending);
    selects[name].replaceChildren(h("option", { value: "" }, `any ${name}`), ...values.map((value) => h("option", { value, selected: String(value) === chosen }, value)));
    selects[name].hidden = values.length < 2;
  }

  function update(found) {
    columns = found.candidates;
    sources = null;
    format = aligned(columns.score);
    FILTERS.forEach(options);
    if (search.value) find();
    else refresh();
    return [element];
  }

  return update;
}
