// One candidate: its facts, its program, the changes since its parents, and what the model read and wrote.

const TEMPLATE = -1;
let shown = null; // the data that the page draws
let texts = null; // a promise of the texts of the template and the candidates; null until one is needed

/** A promise of the texts of the template and then all candidates, as lists; null where there are none. */
function unpackedTexts() {
  texts ??= (async () => {
    const bytes = Uint8Array.from(atob(shown.texts), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  })();
  return texts;
}

async function textOf(candidate) {
  const [source, thought, message, scores, feedback, metrics, prompt, reply] = (await unpackedTexts())[candidate + 1] ?? [null, "", "", [], "", []];
  return { source, thought, message, scores, feedback, metrics, prompt, reply };
}

/** The same with prompt and reply of any candidate where there is a server, which has all of them. */
async function wholeTextOf(candidate) {
  const text = await textOf(candidate);
  return text.prompt || !globalThis.behavesim?.ask ? text : { ...text, ...(await globalThis.behavesim.ask(candidate)) };
}

const named = (candidate) => (candidate === TEMPLATE ? "the template" : shown.names?.[candidate] ?? `candidate ${candidate}`);

/** A candidate's values by the names of the columns; for the template those that are known. */
function cellsOf(candidate) {
  const columns = shown.candidates;
  if (candidate !== TEMPLATE) return Object.fromEntries(Object.keys(columns).map((name) => [name, columns[name][candidate]]));
  return { status: "feasible", operator: "template", parents: [], candidate, ...shown.template };
}

const MOST_ANCESTORS = 150; // as many as the genealogy of the best program has

/** A feasible program and its feasible ancestors, the nearest generations first. */
function ancestorsOf(candidate) {
  const found = new Map([[candidate, cellsOf(candidate)]]);
  for (const { parents } of found.values()) // which grows
    for (const up of parents) if (found.size < MOST_ANCESTORS && !found.has(up) && cellsOf(up).score != null) found.set(up, cellsOf(up));
  return [...found.values()];
}

/** The chart of a program's ancestors, drawn once it has a width. */
function genealogyOf(candidate) {
  const place = h("div");
  setTimeout(() => drawAncestors(place, candidate));
  return h("figure", { class: "chart" }, place);
}

/** A button that opens the dialog on a candidate. */
const opener = (candidate, text = named(candidate)) => h("button", { class: "link", type: "button", "data-candidate": candidate }, text);

/** Tabs with the program, its changes since each parent and the template, and its prompt and reply if they are known. */
async function programTabs(source, parents, texts = {}, candidate = null) {
  const known = await Promise.all([...new Set([...parents, TEMPLATE])].map(async (parent) => [parent, (await textOf(parent)).source]));
  const hasAncestors = candidate !== null && shown.charts.genealogy && cellsOf(candidate).score != null && ancestorsOf(candidate).length > 1;
  const views = [
    ...(source ? [["Program", () => code(source)]] : []),
    ...known.filter(([, text]) => text && source && text !== source).map(([parent, text]) => [`Changes from ${named(parent)}`, () => changes(text, source)]),
    ...(hasAncestors ? [["Ancestors", () => genealogyOf(candidate)]] : []),
    ...["prompt", "reply"].filter((name) => texts[name]).map((name) => [name[0].toUpperCase() + name.slice(1), () => h("pre", { tabindex: 0, class: "words" }, texts[name])]),
  ];
  if (!views.length) return h("p", { class: "empty" }, "It has no program.");
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

/** Open the dialog that the page's address names, if any. */
function openNamed() {
  const found = /^#candidate-(-?\d+)$/.exec(location.hash);
  if (found && Number(found[1]) >= TEMPLATE && Number(found[1]) < shown.candidates.candidate.length) openProgram(Number(found[1]));
}

const between = (elements) => elements.flatMap((each, index) => (index ? [", ", each] : [each]));

/** Open the dialog on a candidate, the template being −1. */
async function openProgram(candidate) {
  const [cells, text] = [cellsOf(candidate), await wholeTextOf(candidate)];
  const name = named(candidate);
  const limit = cells.counted_s == null ? "" : `; ${cells.counted_s.toFixed(3)} of the ${shown.limit_s} s that count`;
  const near = (shown.nearest?.[candidate] ?? []).map(([other, similarity]) => h("span", {}, opener(other), h("span", { class: "note" }, ` ${similarity.toFixed(3)}`)));
  const entries = [
    ["status", cells.reason ? `${cells.status} in ${cells.stage}: ${cells.reason}` : cells.status],
    ["score", cells.score == null ? "" : score(cells.score)],
    ["gap", cells.gap == null ? "" : percent(cells.gap)],
    ["on each instance", text.scores.length > 1 ? text.scores.map(score).join("  ") : ""],
    ...text.metrics.map(([metric, value]) => [metric, inWords(value)]),
    ["nearest in behaviour", near.length ? between(near) : ""],
    ["to the nearest of another group", cells.elsewhere == null ? "" : `distance ${cells.elsewhere.toFixed(3)}`],
    ["parents", between(cells.parents.map((parent) => opener(parent)))],
    ["operator", cells.operator],
    [shown.names ? "group" : "island", cells.group],
    ["model", cells.model],
    ["copy of", cells.copy_of == null ? "" : opener(cells.copy_of)],
    ["CPU time", cells.cpu_s == null ? "" : `${cells.cpu_s.toFixed(3)} s${limit}`],
    ["thought", text.thought],
    ["link", h("a", { href: `#candidate-${candidate}` }, `#candidate-${candidate}`)],
    ["message", text.message && h("span", { class: "message" }, text.message)],
  ];
  history.replaceState(null, "", `#candidate-${candidate}`); // so that the address can be kept or sent
  const dialog = document.getElementById("program");
  dialog.onclose = () => location.hash.startsWith("#candidate-") && history.replaceState(null, "", "#");
  const close = h("button", { type: "button", click: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    h("header", {}, h("h2", { id: "program-title" }, name[0].toUpperCase() + name.slice(1)), text.source ? copyButton(trimmed(text.source), name) : "", close),
    h("dl", { class: "facts" }, entries.filter(([, fact]) => fact != null && fact !== "" && fact.length !== 0).map(([about, fact]) => h("div", {}, h("dt", {}, about), h("dd", {}, fact)))),
    text.feedback ? h("details", { class: "feedback" }, h("summary", {}, "Feedback"), h("pre", {}, text.feedback)) : "",
    await programTabs(text.source, cells.parents, text, candidate),
  );
  if (dialog.open) close.focus();
  else dialog.showModal();
  dialog.scrollTop = 0;
}

