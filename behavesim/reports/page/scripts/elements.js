// Elements and numbers, as every part of the page makes them. Text is set as text: no part of the page is ever parsed
// from a string, so that nothing a program holds can be markup.

/** An element; attributes that are functions listen to the event of their name, `null` and `false` leave one out. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

const UNKNOWN = "–";
const count = (value) => (value === null ? UNKNOWN : value.toLocaleString("en").replaceAll(",", "\u2009"));
const percent = (fraction, digits = 2) => (fraction === null ? UNKNOWN : `${(100 * fraction).toFixed(digits)} %`);
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A score with six significant digits. */
const score = (value) => (value === null ? UNKNOWN : String(Number(value.toPrecision(6))));

/** Scores of one column with so many decimals that the greatest has six significant digits: points stand in line.
 * Where the least would be shown as nothing then, each has six digits of its own. */
function aligned(values) {
  const greatest = Math.max(1, d3.max(values, (value) => Math.abs(value ?? 0)));
  const decimals = Math.max(0, 5 - Math.floor(Math.log10(greatest)));
  const least = d3.min(values, (value) => Math.abs(value ?? 0) || undefined);
  if (least * 10 ** decimals < 1) return score;
  const isWhole = values.every((value) => value === null || Number.isInteger(value));
  return (value) => (value === null ? UNKNOWN : value.toFixed(isWhole ? 0 : decimals));
}

/** Money with two decimals, and small sums with as many as say how much it is. */
const dollars = (value) => `$${value === 0 || value >= 0.1 ? value.toFixed(2) : value.toPrecision(2)}`;

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How wide a chart may be, in pixels. */
const room = () => Math.max(300, document.getElementById("main").clientWidth);
const roomBesideAnother = () => (room() < 640 ? room() : (room() - 40) / 2);

/** A plot in the page's own letters. */
function plotted(options) {
  const drawn = Plot.plot({ ...options, style: { fontFamily: "inherit", fontSize: "13px", background: "none" } });
  for (const mark of drawn.querySelectorAll("g[aria-label]")) mark.setAttribute("role", "group"); // or it may have no label
  return drawn;
}

/** A chart in a figure, which says in words what it shows to those who do not see it. */
function chart(label, options, ...below) {
  const drawn = plotted({ width: room(), marginTop: 30, ...options });
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", label);
  return h("figure", { class: "chart" }, drawn, ...below);
}

/** What the lines of a chart are: `[colour, words, isDashed]` each. */
function legend(entries) {
  const line = ([colour, , isDashed]) => h("i", { class: isDashed ? "dashed" : "", style: `color: ${colour}` });
  return h("ul", { class: "legend" }, entries.map((entry) => h("li", {}, line(entry), entry[1])));
}
