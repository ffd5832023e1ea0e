import { h, icon } from "./elements.ts";

const ALERT = "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm-1 5h2v7h-2zm0 9h2v2h-2z";

/** Covers the video when there is nothing to play: the reason, and the next steps. */
export interface Notice {
  show(notice: {
    title: string;
    text?: string;
    /** 0 to 1; if absent, no progress is shown. */ progress?: number;
    busy?: boolean;
    /** True if this may last long without any activity. */ calm?: boolean;
    /** True if it needs user action to continue. */ wrong?: boolean;
    action?: { label: string; run(): void };
  }): void;
  hide(): void;
}

export function createNotice(): Notice & { element: HTMLElement } {
  const title = h("p", { class: "notice-title" });
  const text = h("p", { class: "notice-text" });
  const bar = h("div", { class: "notice-bar" });
  const progress = h(
    "div",
    {
      class: "notice-progress",
      role: "progressbar",
      "aria-label": "Processing",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    bar,
  );
  const spinner = h("div", { class: "notice-spinner", "aria-hidden": "true" });
  const noticeIcon = h("div", { class: "notice-icon" }, icon(ALERT));
  const button = h("button", { class: "notice-button", type: "button" });
  const element = h(
    "div",
    { class: "notice", role: "status", "aria-live": "polite", hidden: true, noautohide: true },
    h("div", { class: "notice-box" }, spinner, noticeIcon, title, text, progress, button),
  );
  let runAction = () => {};
  button.addEventListener("click", () => runAction());

  return {
    element,
    show(notice) {
      // Writes only changes: a live region would otherwise be read aloud again.
      write(title, notice.title);
      write(text, notice.text ?? "");
      spinner.hidden = notice.busy !== true && notice.calm !== true;
      noticeIcon.hidden = notice.wrong !== true;
      spinner.toggleAttribute("calm", notice.calm === true);
      progress.hidden = notice.progress === undefined;
      if (notice.progress !== undefined) {
        const percent = Math.round(notice.progress * 100);
        progress.setAttribute("aria-valuenow", String(percent));
        bar.style.width = `${percent}%`;
      }
      button.hidden = notice.action === undefined;
      write(button, notice.action?.label ?? "");
      runAction = notice.action?.run ?? (() => {});
      element.hidden = false;
    },
    hide() {
      element.hidden = true;
    },
  };
}

function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
