import { h } from "./elements.ts";

/** Keyboard shortcuts in display order: media-chrome's and our own (keyboard.ts). */
const KEYS: [keys: string[], action: string][] = [
  [["Space", "k"], "Play or pause"],
  [["m"], "Mute"],
  [["f"], "Full screen"],
  [["c"], "Captions"],
  [["p"], "Picture in picture"],
  [["←", "j"], "Back 10 s"],
  [["→", "l"], "Forward 10 s"],
  [["Home", "End"], "Go to start or end"],
  [["0", "9"], "Go to 0% … 90%"],
  [["↑"], "Louder"],
  [["↓"], "Quieter"],
  [["<"], "Slower"],
  [[">"], "Faster"],
  [["?"], "Show this list"],
];

/**
 * Adds ARIA attributes that the controls lack. Call it once they are in the page: they set their own roles when they
 * are connected.
 */
export function makeAccessible(controller: HTMLElement): void {
  // The control sets aria-checked, which is valid for a switch but not for a button.
  controller.querySelector("media-captions-button")?.setAttribute("role", "switch");
  controller.querySelector("media-time-display")?.setAttribute("role", "timer");
  // The shortcut list is created when it is first opened.
  new MutationObserver(() => {
    const dialog = controller.querySelector("media-keyboard-shortcuts-dialog");
    if (dialog === null || dialog.childElementCount > 0) return;
    dialog.setAttribute("aria-label", "Keyboard shortcuts");
    dialog.append(createKeyList());
  }).observe(controller, { childList: true });
}

const createKeyList = (): HTMLElement =>
  h(
    "div",
    { class: "keys" },
    h("h2", {}, "Keyboard shortcuts"),
    h(
      "dl",
      {},
      ...KEYS.map(([keys, action]) =>
        h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", {}, key))), h("dd", {}, action)),
      ),
    ),
  );
