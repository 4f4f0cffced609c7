// Programs as highlighted text, and the differences between two programs.

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
