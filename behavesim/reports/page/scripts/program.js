// One candidate: its facts, its program, and the changes since its parents.

const TEMPLATE = -1;
let shown = null; // the document that the page shows
let texts = null; // a promise of the texts of the template and the candidates; null until one is needed

/** A promise of the template's and then all candidates' texts: `[source, thought, message, scores, feedback, metrics]` or null for each. */
function unpackedTexts() {
  texts ??= (async () => {
    const bytes = Uint8Array.from(atob(shown.texts), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  })();
  return texts;
}

async function textOf(candidate) {
  const [source, thought, message, scores, feedback, metrics] = (await unpackedTexts())[candidate + 1] ?? [null, "", "", [], "", []];
  return { source, thought, message, scores, feedback, metrics };
}

const named = (candidate) => (candidate === TEMPLATE ? "the template" : `candidate ${candidate}`);

/** A candidate's values by the names of the columns; for the template those that are known. */
function cellsOf(candidate) {
  const columns = shown.candidates;
  if (candidate !== TEMPLATE) return Object.fromEntries(Object.keys(columns).map((name) => [name, columns[name][candidate]]));
  const { score: worth = null, gap = null } = shown.summary.template ?? {};
  return { status: "feasible", operator: "template", score: worth, gap, parents: [], candidate };
}

/** A button that opens the dialog on a candidate. */
function opener(candidate, text = named(candidate)) {
  return h("button", { class: "link", type: "button", click: () => openProgram(candidate) }, text);
}

/** A candidate's operator, parents, island and model, as text. */
function origin(cells) {
  const { operator, parents, group, model } = cells;
  const from = parents.length ? `from ${parents.map((p) => (p === TEMPLATE ? "the template" : p)).join(" and ")}` : "";
  return [operator, from, group == null ? "" : `island ${group}`, model ?? ""].filter(Boolean).join(" · ");
}

/** Tabs with the program, and with its changes since each parent that has a program. */
async function programTabs(source, parents) {
  const known = await Promise.all([...new Set(parents)].map(async (parent) => [parent, (await textOf(parent)).source]));
  const views = [
    ["Program", () => code(source)],
    ...known.filter(([, text]) => text).map(([parent, text]) => [`Changes from ${named(parent)}`, () => changes(text, source)]),
  ];
  const panel = h("div", { role: "tabpanel" });
  const tabs = views.map(([name]) => h("button", { role: "tab", type: "button", click: (event) => choose(event.target) }, name));
  const choose = (tab) => {
    for (const each of tabs) {
      each.setAttribute("aria-selected", each === tab);
      each.tabIndex = each === tab ? 0 : -1;
    }
    panel.replaceChildren(views[tabs.indexOf(tab)][1]());
  };
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  };
  choose(tabs[0]);
  return h("div", {}, tabs.length > 1 && h("div", { class: "controls", role: "tablist", keydown: move }, tabs), panel);
}

/** Buttons for the programs that behave most like a candidate; a text if it is not on the map, null if it has no behaviour. */
function nearestInBehaviour(candidate, cells) {
  const place = shown.map.places.find((each) => each.candidate === candidate);
  if (!place) return cells.status === "feasible" && candidate !== TEMPLATE && shown.map.places.length ? h("span", { class: "note" }, `not on the map; see: behavesim show ${shown.summary.run} ${candidate}`) : null;
  return h("span", {}, place.nearest.flatMap((each, index) => [index ? ", " : "", opener(each.candidate), h("span", { class: "note" }, ` ${each.similarity.toFixed(3)}`)]));
}

/** A link to the open page with this candidate's dialog. */
const linkTo = (candidate) => `#candidate-${candidate}`;

/** Open the dialog that the page's address names, if any. */
function openNamed() {
  const found = /^#candidate-(-?\d+)$/.exec(location.hash);
  if (found && Number(found[1]) >= TEMPLATE && Number(found[1]) < shown.candidates.candidate.length) openProgram(Number(found[1]));
}

/** What of a candidate's CPU time counts towards the limit, as the end of a text; "" if it is not known. */
const ofTheLimit = (cells) => (cells.counted_s == null ? "" : `; ${cells.counted_s.toFixed(3)} of the ${shown.limit_s} s that count`);

/** Open the dialog on a candidate, the template being −1. */
async function openProgram(candidate) {
  const [cells, text] = [cellsOf(candidate), await textOf(candidate)];
  const name = named(candidate);
  history.replaceState(null, "", linkTo(candidate)); // so that the address can be kept or sent
  const parents = cells.parents.flatMap((parent, index) => [index ? ", " : "", opener(parent)]);
  openDialog(
    name[0].toUpperCase() + name.slice(1),
    facts([
      ["status", cells.reason ? `${cells.status} in ${cells.stage}: ${cells.reason}` : cells.status],
      ["score", cells.score === null ? "" : score(cells.score)],
      ["gap", cells.gap === null ? "" : percent(cells.gap)],
      ["on each instance", text.scores.length > 1 ? text.scores.map(score).join("  ") : ""],
      ...text.metrics.map(([metric, value]) => [metric, inWords(value)]),
      ["nearest in behaviour", nearestInBehaviour(candidate, cells)],
      ["parents", parents.length ? h("span", {}, parents) : ""],
      ["operator", cells.operator],
      ["island", cells.group],
      ["model", cells.model],
      ["copy of", cells.copy_of == null ? "" : opener(cells.copy_of)],
      ["CPU time", cells.cpu_s == null ? "" : `${cells.cpu_s.toFixed(3)} s${ofTheLimit(cells)}`],
      ["thought", text.thought],
      ["link", h("a", { href: linkTo(candidate) }, linkTo(candidate))],
      ["message", text.message && h("span", { class: "message" }, text.message)],
    ]),
    h("div", { class: "controls" },
      cells.score === null || cells.score === undefined ? null : h("button", { type: "button", click: () => turnTo(candidate) }, "Show its genealogy"),
      text.source ? copyButton(trimmed(text.source), name) : null),
    text.feedback ? h("details", { class: "feedback" }, h("summary", {}, "Feedback"), h("pre", {}, text.feedback)) : null,
    text.source ? await programTabs(text.source, cells.parents) : h("p", { class: "empty" }, "It has no program."),
  );
}
