// The list of runs: sorted by a column, and filtered by words and by experiment. Without it the list is as it was sent.

const table = document.querySelector("form table");
const rows = [...table.tBodies[0].rows];
const heads = [...table.tHead.rows[0].cells];
const boxOf = (row) => row.querySelector("input");
const experimentOf = (row) => boxOf(row).value.split("/").slice(0, -1).join("/");
const experiments = [...new Set(rows.map(experimentOf))].filter(Boolean).sort();

const search = h("input", { type: "search", placeholder: "Search names, tasks, states", "aria-label": "Search runs", input: () => filter() });
const options = [h("option", { value: "" }, "all experiments"), ...experiments.map((value) => h("option", { value }, value))];
const choice = h("select", { "aria-label": "Filter by experiment", hidden: !experiments.length, change: () => filter() }, options);
const all = h("input", { type: "checkbox", change: () => rows.forEach((row) => { if (!row.hidden) boxOf(row).checked = all.checked; }) });
const total = h("output", { "aria-live": "polite" });
let [sorted, isDown] = [null, false];

function filter() {
  const words = search.value.toLowerCase().split(" ");
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const isMeant = (!choice.value || experimentOf(row) === choice.value) && words.every((word) => text.includes(word));
    row.hidden = !isMeant && !boxOf(row).checked; // what is compared stays in view
  }
  const count = rows.filter((row) => !row.hidden).length;
  total.textContent = count === rows.length ? counted(count, "run") : `${count} of ${counted(rows.length, "run")}`;
}

function sort(place) {
  [sorted, isDown] = [place, sorted === place && !isDown];
  const isNumber = heads[place].classList.contains("number");
  const values = new Map(rows.map((row) => [row, row.cells[place].textContent.trim()]));
  const order = (a, b) => (isNumber ? Number.parseFloat(a) - Number.parseFloat(b) : a.localeCompare(b, "en", { numeric: true }));
  rows.sort((a, b) => {
    const [one, other] = [values.get(a), values.get(b)];
    return (one === "") - (other === "") || order(one, other) * (isDown ? -1 : 1); // what is unknown comes last
  });
  table.tBodies[0].append(...rows);
  heads.forEach((head, at) => (at === place ? head.setAttribute("aria-sort", isDown ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
}

heads.forEach((head, place) => head.replaceChildren(h("button", { type: "button", class: "link", click: () => sort(place) }, head.textContent)));
table.parentElement.before(h("div", { class: "controls" }, search, choice, h("label", {}, all, "mark all shown"), total));
filter();
