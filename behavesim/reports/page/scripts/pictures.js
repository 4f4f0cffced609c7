// Draws a state as its task says, or as the numbers in it. Steps after the one at which two programs part have their
// own colour.

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const SIDE = 400;
const BEFORE = "var(--faint)";
const AFTER = "var(--second)";

function stage(label, ...children) {
  return svg("svg", { class: "stage", viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-label": label }, ...children);
}

/** A route: the places decided so far, closed after the last step. */
function drawRoute({ places }, values, step, firstDifference) {
  const [xs, ys] = [0, 1].map((axis) => d3.scaleLinear(d3.extent(places, (place) => place[axis]), [16, SIDE - 16]));
  const at = (decision) => `${xs(places[decision][0])},${SIDE - ys(places[decision][1])}`;
  const line = (decisions, colour) => svg("polyline", { points: decisions.map(at).join(" "), fill: "none", stroke: colour, "stroke-width": 2.25, "stroke-linejoin": "round" });
  const way = step === values.length ? [...values, values[0]] : values.slice(0, step);
  const shared = Math.min(firstDifference === null ? way.length : firstDifference - 1, way.length);
  const visited = new Set(way);
  return [
    ...places.map((_, place) => {
      const [x, y] = at(place).split(",");
      return svg("circle", { cx: x, cy: y, r: 3, fill: visited.has(place) ? "var(--ink)" : "none", stroke: visited.has(place) ? "none" : "var(--faint)" });
    }),
    line(way.slice(0, shared), BEFORE), line(way.slice(Math.max(0, shared - 1)), AFTER),
    svg("rect", { x: xs(places[values[0]][0]) - 6, y: SIDE - ys(places[values[0]][1]) - 6, width: 12, height: 12, fill: "var(--ink)" }),
    svg("circle", { cx: at(values[step - 1]).split(",")[0], cy: at(values[step - 1]).split(",")[1], r: 6, fill: "none", stroke: "var(--ink)", "stroke-width": 2 }),
  ];
}

/** The circles placed so far; the last one has a thick outline. */
function drawDisks(_, values, step, firstDifference) {
  const inside = SIDE - 16;
  const state = values[step - 1];
  const rows = d3.range(state.length / 3).map((row) => state.slice(3 * row, 3 * row + 3));
  return [
    svg("rect", { x: 8, y: 8, width: inside, height: inside, fill: "none", stroke: "var(--faint)" }),
    ...rows.filter(([, , radius]) => radius > 0).map(([x, y, radius], row) => svg("circle", {
      cx: 8 + inside * x, cy: SIDE - 8 - inside * y, r: inside * radius,
      stroke: firstDifference !== null && row + 1 >= firstDifference ? AFTER : BEFORE, "stroke-width": row + 1 === step ? 3 : 1.25,
      fill: `color-mix(in srgb, ${firstDifference !== null && row + 1 >= firstDifference ? AFTER : BEFORE} 22%, transparent)`,
    })),
  ];
}

/** The bins side by side with their items, the last item in full colour; `most` is the number of bins. */
function drawBins({ sizes, capacity }, values, step, firstDifference, most) {
  const width = (SIDE - 16) / most;
  const height = (size) => ((SIDE - 24) * size) / capacity;
  const filled = Array(most).fill(0);
  const items = values.slice(0, step).map((bin, item) => {
    filled[bin] += sizes[item];
    const colour = firstDifference !== null && item + 1 >= firstDifference ? AFTER : BEFORE;
    return svg("rect", {
      x: 8 + bin * width + 0.1 * width, y: SIDE - 8 - height(filled[bin]), width: 0.8 * width, height: Math.max(1, height(sizes[item]) - 1),
      fill: `color-mix(in srgb, ${colour} ${item + 1 === step ? 100 : 45}%, var(--paper))`,
    });
  });
  return [svg("line", { x1: 8, x2: SIDE - 8, y1: SIDE - 8 - height(capacity), y2: SIDE - 8 - height(capacity), stroke: "var(--faint)", "stroke-dasharray": "4 3" }), ...items];
}

/**
 * The numbers of a state as points over their places; `extent` is the smallest and largest number of all states, and
 * `names` are those of the axes, across and up.
 */
function drawNumbers(numbers, places, extent, firstDifference, names) {
  const xs = d3.scaleLinear([0, Math.max(1, places - 1)], [16, SIDE - 16]);
  const ys = d3.scaleLinear(extent[0] === extent[1] ? [extent[0] - 1, extent[1] + 1] : extent, [SIDE - 24, 24]);
  return [
    svg("text", { x: 8, y: 16 }, `${names[1]}: ${score(extent[1])}`), svg("text", { x: 8, y: SIDE - 6 }, score(extent[0])),
    svg("text", { x: SIDE - 8, y: SIDE - 6, "text-anchor": "end" }, `${names[0]} 1 to ${places} →`),
    ...numbers.map((value, place) => svg("circle", { cx: xs(place), cy: ys(value), r: 3, fill: firstDifference !== null && place + 1 >= firstDifference ? AFTER : BEFORE })),
  ];
}

const PICTURES = { route: drawRoute, disks: drawDisks, bins: drawBins };

/** Draw a program's state after a step of a scene; `firstDifference` is the first step that differs, or null. */
function drawState(scene, { candidate, values }, step, firstDifference) {
  const shownStep = Math.min(step, values.length);
  const label = `${named(candidate)} after ${shownStep} of ${values.length} steps`;
  if (scene.picture) {
    const most = scene.picture.kind === "bins" ? 1 + d3.max(scene.programs, (each) => d3.max(each.values)) : 0;
    return stage(label, ...PICTURES[scene.picture.kind](scene.picture, values, shownStep, firstDifference, most));
  }
  const [least = 0, greatest = 0] = d3.extent(scene.programs.flatMap((each) => each.values.flat()));
  const isGrowing = scene.kind === "prefixes"; // the numbers of a state are then the steps so far
  const numbers = isGrowing ? values.slice(0, shownStep) : values[shownStep - 1];
  const places = d3.max(scene.programs, (each) => (isGrowing ? each.values.length : d3.max(each.values, (state) => state.length)));
  const colouredFrom = isGrowing || firstDifference === null ? firstDifference : shownStep >= firstDifference ? 1 : null;
  const names = isGrowing ? ["step", "decision"] : ["place in the state", "value"];
  return stage(label, ...drawNumbers(numbers, places, [least, greatest], colouredFrom, names));
}
