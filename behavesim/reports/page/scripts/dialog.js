// The dialog, the buttons and the small texts that all pages share.

const nothing = (why) => h("p", { class: "empty" }, why);

function themeButton() {
  const root = document.documentElement;
  const isDark = () => {
    const scheme = root.style.colorScheme;
    return scheme ? scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const toggle = (event) => {
    root.style.colorScheme = isDark() ? "light" : "dark";
    event.currentTarget.setAttribute("aria-pressed", isDark());
  };
  return h("button", { type: "button", "aria-pressed": isDark(), click: toggle }, "Dark");
}

/** A button that copies a text to the clipboard, and says so. */
function copyButton(text, name) {
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h("textarea", { class: "aside" }, text); // a browser may refuse the clipboard to a page from a file
      button.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  return h("button", { type: "button", "aria-label": `Copy ${name}`, click: copy }, "Copy");
}

function facts(entries) {
  const known = entries.filter(([, fact]) => fact !== null && fact !== undefined && fact !== "");
  return h("dl", { class: "facts" }, known.flatMap(([name, fact]) => [h("dt", {}, name), h("dd", {}, fact)]));
}

/** Open the dialog with a title and content, in place of its content before. */
function openDialog(title, ...content) {
  const dialog = document.getElementById("program");
  dialog.onclose = () => location.hash.startsWith("#candidate-") && history.replaceState(null, "", "#");
  const close = h("button", { type: "button", click: () => dialog.close() }, "Close");
  dialog.replaceChildren(h("header", {}, h("h2", { id: "program-title" }, title), close), ...content.filter((each) => each !== null));
  if (dialog.open) close.focus();
  else dialog.showModal();
  dialog.scrollTop = 0;
}

/**
 * Make the marks of a chart buttons: a click, Enter or space calls `open` with a mark's candidate, arrow keys move to
 * another mark. `marks` are elements in the order of `candidates`, which are numbers or values that have one.
 */
function asButtons(marks, candidates, label, open = openProgram) {
  marks.forEach((mark, index) => {
    mark.setAttribute("role", "button");
    mark.setAttribute("tabindex", index === 0 ? 0 : -1);
    mark.setAttribute("aria-label", label(candidates[index]));
    mark.dataset.candidate = candidates[index].candidate ?? candidates[index];
    mark.addEventListener("click", () => open(candidates[index]));
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") open(candidates[index]);
      else if (step) marks[(index + step + marks.length) % marks.length].focus();
      else return;
      event.preventDefault();
    });
  });
}
