// Makes the elements and numbers of all parts of the page. Text is set as text, and no HTML is parsed from a string, so
// nothing in a program can become markup.

/** A text with escapes for control characters and for marks that hide text or turn its direction, as terminals show it. */
const visible = (text) => text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (mark) => `\\u${mark.codePointAt(0).toString(16).padStart(4, "0")}`);

/** Make an element. A function as attribute listens to the event of that name; `null` and `false` set no attribute. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== false);
  element.append(...shown.map((child) => (child instanceof Node ? child : visible(String(child)))));
  return element;
}

const UNKNOWN = "–";
const count = (value) => (value === null ? UNKNOWN : value.toLocaleString("en"));
const percent = (fraction, digits = 2) => (fraction === null ? UNKNOWN : `${(100 * fraction).toFixed(digits)} %`);
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A score as text with six significant digits; a dash if it is unknown. */
const score = (value) => (value === null ? UNKNOWN : String(Number(value.toPrecision(6))));

/** What an axis of scores is called: with the unit if the task says it. */
const scoreTitle = ({ unit }) => (unit ? `score (${unit})` : "score");

/** A metric as text: a number like a score, a word such as "nan" as it is, nothing where it was not told. */
const inWords = (value) => (typeof value === "number" ? score(value) : value ?? "");

/**
 * Return a function that formats the scores of one column with equal decimals, so that decimal points are aligned.
 * The largest score gets six significant digits. If the smallest would then have fewer than three, as beside a penalty of
 * 1e6, each score gets its own six.
 */
function aligned(values) {
  const greatest = Math.max(1, d3.max(values, (value) => Math.abs(value ?? 0)));
  const decimals = Math.max(0, 5 - Math.floor(Math.log10(greatest)));
  const least = d3.min(values, (value) => Math.abs(value ?? 0) || undefined);
  if (least * 10 ** decimals < 100) return score;
  const isWhole = values.every((value) => value === null || Number.isInteger(value));
  return (value) => (value === null ? UNKNOWN : value.toFixed(isWhole ? 0 : decimals));
}

/** A cost in USD as text: two decimals from $0.10 on, two significant digits below. */
const dollars = (value) => `$${value === 0 || value >= 0.1 ? value.toFixed(2) : value.toPrecision(2)}`;

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A heading of a table's column; `isNumber` aligns it to the right. */
const heading = (name, isNumber = false) => h("th", { scope: "col", class: isNumber ? "number" : null }, name);

/** A table's cell with a number, aligned to the right. */
const numberCell = (value) => h("td", { class: "number" }, value);

/** A table that scrolls sideways where it is too wide, without columns that say nothing: its headings, its rows, its class. */
function tableOf(headings, rows, kind = null) {
  const isKnown = headings.map((_, place) => rows.some((row) => !["", UNKNOWN].includes(row.children[place].textContent)));
  for (const row of rows) [...row.children].forEach((cell, place) => isKnown[place] || cell.remove());
  headings = headings.filter((_, place) => isKnown[place]);
  return h("div", { class: "scroll" }, h("table", { class: kind }, h("thead", {}, h("tr", {}, headings)), h("tbody", {}, rows)));
}

/** At most eight whole numbers from `first` to `last` as ticks of an axis, at most four where it is narrow. */
const wholeTicks = (first, last) => d3.ticks(first, last, room() < 640 ? 4 : 8).filter(Number.isInteger);

/** The largest width of a chart, in pixels: that of the page's content, at least 300. */
const room = () => Math.max(300, document.getElementById("main").clientWidth);
const roomBesideAnother = () => (room() < 640 ? room() : (room() - 40) / 2);

/** Draw a chart with Observable Plot in the page's own font, and return its element. */
function plotted(options) {
  const drawn = Plot.plot({ ...options, style: { fontFamily: "inherit", fontSize: "13px", background: "none" } });
  for (const mark of drawn.querySelectorAll("g[aria-label]")) mark.setAttribute("role", "group"); // without a role, an element may have no label
  return drawn;
}

/** Draw a chart in a figure; `label` describes it for screen readers, `below` are elements under it. */
function chart(label, options, ...below) {
  const drawn = plotted({ width: room(), marginTop: 30, ...options });
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", label);
  return h("figure", { class: "chart" }, drawn, ...below);
}

/** The legend of a chart; an entry is `[colour, words, style of the line]`, solid without one. */
function legend(entries) {
  const line = ([colour, , style]) => h("i", { class: style ?? "", style: `color: ${colour}` });
  return h("ul", { class: "legend" }, entries.map((entry) => h("li", {}, line(entry), entry[1])));
}
