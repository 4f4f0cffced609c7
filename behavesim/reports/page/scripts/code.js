// Programs as text: highlighted, and how one differs from another.

/** The lines of a program, each a list of nodes; a token that goes over several lines is in each of them. */
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

const trimmed = (source) => source.replace(/\s+$/, "");

function line(nodes, number, kind = "") {
  return h("span", { class: `line ${kind}`.trim(), "data-line": number }, ...nodes, "\n");
}

/** A program as it is, its lines numbered. */
function code(source) {
  return h("pre", { tabindex: 0 }, h("code", {}, highlighted(trimmed(source)).map((nodes, index) => line(nodes, index + 1))));
}

/** What leads from one program to another: lines removed, lines added, and those between. */
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
