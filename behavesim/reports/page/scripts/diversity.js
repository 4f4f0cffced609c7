// The distances of programs inside islands and between islands, over time.

function drawDiversity({ diversity }) {
  const inside = diversity.flatMap((then) => then.intra.filter((each) => each !== null).map((distance) => ({ registered: then.registered, distance })));
  const between = diversity.filter((then) => then.inter !== null);
  if (!inside.length && !between.length) return [nothing("The archive has no two programs to compare.")];
  const words = (then) => `after ${then.registered} candidates\nbetween islands ${then.inter.toFixed(3)}`;
  const last = between.at(-1);
  const moments = diversity.map((then) => then.registered);
  const drawn = {
    height: 320, marginLeft: 56, marginBottom: 44,
    x: { type: "band", label: "candidates", domain: moments, ticks: room() < 640 ? moments.filter((_, place) => (moments.length - 1 - place) % 3 === 0) : moments, tickFormat: count, padding: 0.35 },
    y: { label: "distance, 1 − BehaveSim", grid: true, zero: true, nice: true },
    marks: [
      Plot.boxY(inside, { x: "registered", y: "distance", fill: "color-mix(in srgb, var(--second) 30%, var(--paper))", stroke: "var(--second)", r: 2 }),
      Plot.line(between, { x: "registered", y: "inter", stroke: "var(--best)", strokeWidth: 2.25 }),
      Plot.dot(between, { x: "registered", y: "inter", fill: "var(--best)", r: 4 }),
      Plot.tip(between, Plot.pointerX({ x: "registered", y: "inter", title: words })),
    ],
  };
  const label = last ? `Diversity over time: in the end the mean distance between islands is ${last.inter.toFixed(3)}` : "Diversity inside islands over time";
  return [
    h("p", { class: "note" }, "Mean distance between programs of one island (a box over all islands) and between programs of two islands (the line), at every tenth of the budget, on a sample of each island."),
    chart(label, drawn, legend([["var(--second)", "inside islands"], ["var(--best)", "between islands"]])),
  ];
}
