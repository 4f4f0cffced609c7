// How the run was made: its command, settings, versions and dates.

/** The workers of a cluster: which served last, how fast all of them were, and what happened to them. */
function drawWorkers({ serving, since, per_minute: rate, changes }) {
  return [
    h("h3", {}, "Workers of the cluster"),
    facts([
      ["serving", `${serving}, since ${moment(since)}`],
      ["candidates a minute", rate === null ? UNKNOWN : `${rate.toFixed(1)}, over the whole run`],
    ]),
    tableOf([heading("time"), heading("what happened")], changes.map(({ at, text }) => h("tr", {}, h("td", {}, moment(at)), h("td", {}, text))), "narrow"),
  ];
}

/** A moment, in seconds since the epoch, as date and time in UTC. */
const moment = (seconds) => `${new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;

function drawMaking({ made, summary, objective }) {
  const versions = Object.entries(made.versions).map(([name, version]) => (name === "machine" ? version : `${name} ${version}`)).join(", ");
  const known = objective.best_known === null ? "" : `, best known ${score(objective.best_known)}`;
  const changed = made.settings.length
    ? tableOf([heading("setting"), heading("value"), heading("default")], made.settings.map(({ name, value, default: usual }) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value), h("td", {}, usual || UNKNOWN))), "narrow")
    : "";
  return [
    ...made.commands.map((command) => h("div", { class: "command" }, h("code", {}, command), copyButton(command, "the command"))),
    facts([
      ...summary.advice.map(({ text, since, until }) => ["advice", `“${text}”, ${until === null ? `since candidate ${since}` : `candidates ${since}–${until - 1}`}`]),
      ["task", `${summary.task}: ${objective.direction} the ${scoreTitle(objective)}${known}`],
      ["begun", moment(made.began_at)],
      [summary.state === "running" ? "last event" : "ended", `${moment(made.last_at)}, after ${duration(summary.seconds)} of activity`],
      ["versions", versions],
      ["isolation", summary.isolation],
      ["scores", summary.score_source === "trusted" ? "trusted: computed outside the sandbox" : "self-reported: by an evaluator that programs run beside, and could change"],
      ["behaviour", made.behaviour],
      ["digest", h("span", { class: "message" }, summary.digest)],
    ]),
    h("p", { class: "note" }, made.settings.length ? "Settings that differ from their defaults:" : "All settings but those of the command have their defaults."),
    changed,
    ...(made.workers ? drawWorkers(made.workers) : []),
  ];
}
