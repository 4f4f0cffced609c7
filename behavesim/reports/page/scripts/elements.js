// Makes elements, numbers and code. Text is set as text, and no HTML is parsed from a string, so nothing in a program can
// become markup.

/** A text with escapes for control characters and for marks that hide text or turn its direction, as terminals show it. */
const visible = (text) => text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (mark) => `\\u${mark.codePointAt(0).toString(16).padStart(4, "0")}`);

/** Make an element. A function as attribute listens to the event of that name; `null` and `false` set no attribute. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown.map((child) => (child instanceof Node ? child : visible(String(child)))));
  return element;
}

const count = (value) => value.toLocaleString("en");
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
const percent = (fraction) => `${(100 * fraction).toFixed(2)} %`;

/** A score as text with six significant digits. */
const score = (value) => String(Number(value.toPrecision(6)));

/** A metric as text: a number like a score, a word such as "nan" as it is, nothing where it was not told. */
const inWords = (value) => (typeof value === "number" ? score(value) : value ?? "");

/** A function that writes scores with equal decimals; where that leaves the smallest too few digits, each with its own. */
function aligned(values) {
  const known = values.filter((value) => value !== null).map(Math.abs);
  const decimals = Math.max(0, 5 - Math.floor(Math.log10(Math.max(1, ...known.slice(0, 5000)))));
  const least = Math.min(...known.filter(Boolean).slice(0, 5000));
  if (least * 10 ** decimals < 100) return score;
  const isWhole = known.every(Number.isInteger);
  return (value) => value.toFixed(isWhole ? 0 : decimals);
}

/** A button that copies a text to the clipboard, and says so. */
function copyButton(text, name) {
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h("textarea", { class: "aside" }, text); // a browser may refuse the clipboard to a page from a file
      button.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  return h("button", { type: "button", "aria-label": `Copy ${name}`, click: copy }, "Copy");
}

/** The highlighted lines of a program, each a list of nodes; a token over several lines is split at their ends. */
function highlighted(source) {
  const lines = [[]];
  const add = (text, types) => {
    text.split("\n").forEach((part, index) => {
      if (index) lines.push([]);
      if (part) lines.at(-1).push(types ? h("span", { class: `token ${types}` }, part) : part);
    });
  };
  const walk = (token, types) => {
    if (typeof token === "string") add(token, types);
    else if (Array.isArray(token)) token.forEach((each) => walk(each, types));
    else walk(token.content, `${types} ${token.type}`.trim());
  };
  walk(Prism.tokenize(source, Prism.languages.python), "");
  return lines;
}

const DEEPEST = 12; // largest number of characters by which the rest of a long line is indented as the line is
const trimmed = (source) => source.replace(/\s+$/, "");

/** A line of a program; where it is too long it goes on below, indented by four more than it begins. */
function line(nodes, number, kind = "") {
  const [begins] = /^ */.exec(nodes[0]?.textContent ?? nodes[0] ?? "");
  const style = `--indent: ${Math.min(begins.length, DEEPEST) + 4}ch`;
  return h("span", { class: `line ${kind}`.trim(), "data-line": number, style }, ...nodes, "\n");
}

/** A program with numbered lines. */
function code(source) {
  return h("pre", { tabindex: 0 }, h("code", {}, highlighted(trimmed(source)).map((nodes, index) => line(nodes, index + 1))));
}

/** The difference from one program to another: removed, added and unchanged lines. */
function changes(from, to) {
  const [before, after] = [trimmed(from), trimmed(to)];
  const [left, right] = [highlighted(before), highlighted(after)];
  let [i, j] = [0, 0];
  const lines = Diff.diffArrays(before.split("\n"), after.split("\n")).flatMap(({ count: size, added, removed }) =>
    Array.from({ length: size }, () => {
      if (removed) return line(left[i++], "", "removed");
      i += added ? 0 : 1;
      return line(right[j++], j, added ? "added" : "");
    }),
  );
  return h("pre", { tabindex: 0 }, h("code", {}, lines));
}
