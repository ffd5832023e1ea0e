import { h } from "./elements.ts";

/** A text over the video, which remains visible: a problem, or a suggestion. */
export interface Hint {
  show(hint: HintText): void;
  /** Shown when no other hint is visible, until reset with `undefined`; other hints cover it temporarily. */
  stay(hint: HintText | undefined): void;
  hide(): void;
}

interface HintText {
  text: string;
  busy?: boolean;
  action?: { label: string; run(): void };
}

export function createHint(): Hint & { element: HTMLElement } {
  const spinner = h("span", { class: "notice-spinner", "aria-hidden": "true" });
  const text = h("span", { role: "status" });
  const button = h("button", { class: "hint-button", type: "button" });
  const element = h("div", { class: "hint", hidden: true, noautohide: true }, spinner, text, button);
  let runAction = () => {};
  let stayingHint: HintText | undefined;
  let shownHint: HintText | undefined;
  button.addEventListener("click", () => runAction());

  function draw(): void {
    const hint = shownHint ?? stayingHint;
    // A live region that is rewritten would be read aloud again.
    if (text.textContent !== (hint?.text ?? "")) text.textContent = hint?.text ?? "";
    spinner.toggleAttribute("hidden", hint?.busy !== true);
    button.hidden = hint?.action === undefined;
    button.textContent = hint?.action?.label ?? "";
    runAction = hint?.action?.run ?? (() => {});
    element.hidden = hint === undefined;
  }

  return {
    element,
    show(hint) {
      shownHint = hint;
      draw();
    },
    stay(hint) {
      stayingHint = hint;
      draw();
    },
    hide() {
      shownHint = undefined;
      draw();
    },
  };
}
