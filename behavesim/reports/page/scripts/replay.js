// The states of two programs, step by step, side by side: drawn as the task says, or as the numbers in them. Steps after
// the one at which the programs part have their own colour.

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The least and the greatest of some numbers; 0 and 0 without any. */
const extent = (values) => (values.length ? values.reduce(([low, high], each) => [Math.min(low, each), Math.max(high, each)], [Infinity, -Infinity]) : [0, 0]);

/** The function that maps one span of numbers to another. */
const scaled = ([low, high], [from, to]) => (value) => from + ((to - from) * (value - low)) / (high - low || 1);

const SIDE = 400;
const BEFORE = "var(--faint)";
const AFTER = "var(--second)";

function stage(label, ...children) {
  return svg("svg", { class: "stage", viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", "aria-label": label }, ...children);
}

/** A route: the places decided so far, closed after the last step. */
function drawRoute({ places }, values, step, firstDifference) {
  const [xs, ys] = [0, 1].map((axis) => scaled(extent(places.map((place) => place[axis])), [16, SIDE - 16]));
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
  const rows = Array.from({ length: state.length / 3 }, (_, row) => state.slice(3 * row, 3 * row + 3));
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
  const xs = scaled([0, Math.max(1, places - 1)], [16, SIDE - 16]);
  const ys = scaled(extent[0] === extent[1] ? [extent[0] - 1, extent[1] + 1] : extent, [SIDE - 24, 24]);
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
    const most = scene.picture.kind === "bins" ? 1 + extent(scene.programs.flatMap((each) => each.values))[1] : 0;
    return stage(label, ...PICTURES[scene.picture.kind](scene.picture, values, shownStep, firstDifference, most));
  }
  const [least, greatest] = extent(scene.programs.flatMap((each) => each.values.flat()));
  const isGrowing = scene.kind === "prefixes"; // the numbers of a state are then the steps so far
  const numbers = isGrowing ? values.slice(0, shownStep) : values[shownStep - 1];
  const places = Math.max(...scene.programs.map((each) => (isGrowing ? each.values.length : extent(each.values.map((state) => state.length))[1])));
  const colouredFrom = isGrowing || firstDifference === null ? firstDifference : shownStep >= firstDifference ? 1 : null;
  const names = isGrowing ? ["step", "decision"] : ["place in the state", "value"];
  return stage(label, ...drawNumbers(numbers, places, [least, greatest], colouredFrom, names));
}

const PACE = 120; // milliseconds per step

/** Return the section's drawing function; the chosen programs, instance and step stay when a newer document is shown. */
function replay() {
  let scenes = [];
  let playing = null;

  const choice = (label, change) => h("select", { "aria-label": label, change });
  const instance = choice("Instance", () => choose());
  const left = choice("Program on the left", () => choose());
  const right = choice("Program on the right", () => choose());
  const slider = h("input", { type: "range", min: 1, value: 1, "aria-label": "Step", input: () => draw() });
  const play = h("button", { type: "button", click: () => (playing ? pause() : start()) }, "Play");
  const part = h("button", { type: "button", click: () => show(firstDifference()) }, "Where they part");
  const step = h("output", { "aria-live": "off" });
  const words = h("p", { class: "note", "aria-live": "polite" });
  const stages = h("div", { class: "pair" });
  const element = h("div", {},
    h("p", { class: "note" }, "Two of the best behaviours on one instance of the search, step by step. Grey steps are the same in both, orange steps come after they part."),
    h("div", { class: "controls" }, left, right, instance, part),
    h("div", { class: "controls" }, play, h("label", { class: "slider" }, slider), step),
    words, stages);

  const scene = () => scenes[instance.value];
  const pair = () => [left, right].map((select) => scene().programs[select.value]);
  const firstDifference = () => scene().first_difference[left.value][right.value];

  function start() {
    if (Number(slider.value) === Number(slider.max)) slider.value = 1;
    playing = setInterval(() => (Number(slider.value) < Number(slider.max) ? show(Number(slider.value) + 1) : pause()), PACE);
    play.textContent = "Pause";
  }

  function pause() {
    clearInterval(playing);
    playing = null;
    play.textContent = "Play";
  }

  function show(number) {
    slider.value = number;
    draw();
  }

  /** Update the section after other programs or another instance were chosen. */
  function choose() {
    slider.max = Math.max(...pair().map((program) => program.values.length));
    part.disabled = firstDifference() === null;
    words.textContent = firstDifference() === null ? "They do the same throughout." : `They part at step ${firstDifference()} of ${slider.max}.`;
    draw();
  }

  function draw() {
    const number = Number(slider.value);
    step.textContent = `step ${number} of ${slider.max}`;
    stages.replaceChildren(...pair().map((program) => h("figure", {},
      h("figcaption", {}, opener(program.candidate), h("span", { class: "note" }, ` scores ${score(program.score)} here`)),
      drawState(scene(), program, number, firstDifference()))));
  }

  function offer(select, names, preferred) {
    const chosen = select.options.length && select.value < names.length ? Number(select.value) : Math.min(preferred, names.length - 1);
    select.replaceChildren(...names.map((name, index) => h("option", { value: index, selected: index === chosen }, name)));
  }

  return ({ scenes: found }) => {
    pause();
    scenes = found;
    if (!scenes.length) return [h("p", { class: "empty" }, "There are no states of programs to show.")];
    const programs = scenes[0].programs.map((program, rank) => `${rank + 1}. ${named(program.candidate)}`);
    const apart = scenes.findIndex((each) => each.first_difference[0][1]); // the best two may part on another instance than the first
    offer(instance, scenes.map((each) => `instance ${each.instance}`), Math.max(0, apart));
    offer(left, programs, 0);
    offer(right, programs, 1);
    const isFirst = slider.max === "";
    choose();
    if (isFirst) show(Math.ceil(slider.max / 2));
    return [element];
  };
}
