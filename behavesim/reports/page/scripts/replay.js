// The states of two programs, step by step, side by side.

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
    slider.max = d3.max(pair(), (program) => program.values.length);
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
    if (!scenes.length) return [nothing("There are no states of programs to show.")];
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
