import "media-chrome";
import "media-chrome/menu";
import type { ChaptersMenu } from "./chapters-menu.ts";
import "./chapters-menu.ts";
import "./quality-menu.ts";
import { createHint, type Hint } from "./hint.ts";
import { createNotice, type Notice } from "./notice.ts";

export interface Layout {
  controller: HTMLElement;
  video: HTMLVideoElement;
  poster: HTMLImageElement;
  notice: Notice;
  hint: Hint;
  /** Live badge among the buttons. */
  live: HTMLElement;
  /** Bar above the video: its owner and title. */
  top: HTMLElement;
  chaptersMenu: ChaptersMenu;
  /** Item of the settings menu that opens the chapters menu. */
  chaptersItem: HTMLElement;
  /** Shows the title of the current chapter in the settings menu. */
  chapterNow: HTMLElement;
  /** Layer over the video, shown during an advertisement. */
  ad: HTMLElement;
}

const GEAR =
  "M19.4 13a7.6 7.6 0 0 0 0-2l2-1.6a.5.5 0 0 0 .2-.6l-2-3.4a.5.5 0 0 0-.6-.2l-2.4 1a7.3 7.3 0 0 0-1.7-1l-.4-2.6a.5.5 0 0 0-.5-.4h-4a.5.5 0 0 0-.5.4l-.4 2.6c-.6.2-1.2.6-1.7 1L5 5.2a.5.5 0 0 0-.6.2l-2 3.4a.5.5 0 0 0 .1.6L4.6 11a7.6 7.6 0 0 0 0 2l-2 1.6a.5.5 0 0 0-.2.6l2 3.4c.1.2.4.3.6.2l2.4-1c.5.4 1.1.8 1.7 1l.4 2.6c0 .2.3.4.5.4h4c.2 0 .5-.2.5-.4l.4-2.6c.6-.2 1.2-.6 1.7-1l2.4 1c.2.1.5 0 .6-.2l2-3.4a.5.5 0 0 0-.1-.6zM12 15.5a3.5 3.5 0 1 1 0-7 3.5 3.5 0 0 1 0 7z";

const BACK = "m11.88 17.585.742-.669-4.2-4.665 4.2-4.666-.743-.669-4.803 5.335 4.803 5.334Z";
/** Replaces the menus' own back button, which is not a menu item and whose label overrides its text. */
const backButton = (title: string) =>
  `<button slot="header" part="back button" role="menuitem" class="menu-back" type="button"><svg viewBox="0 0 20 24" aria-hidden="true"><path d="${BACK}"/></svg>${title}</button>`;

// Static HTML: contains no data from videos or URLs.
const CONTROLS = `
<div class="top" slot="top-chrome" hidden></div>
<div class="shade" aria-hidden="true"></div>
<media-loading-indicator slot="centered-chrome" noautohide></media-loading-indicator>
<media-play-button class="big-play" slot="centered-chrome" notooltip></media-play-button>
<media-settings-menu id="settings" anchor="auto" hidden aria-label="Settings">
  <span slot="header" hidden></span>
  <media-settings-menu-item class="chapters">Chapters
    <span slot="description" class="chapter-now"></span>
    <chapters-menu slot="submenu" hidden>${backButton("Chapters")}</chapters-menu>
  </media-settings-menu-item>
  <media-settings-menu-item>Quality
    <quality-menu slot="submenu" hidden>${backButton("Quality")}</quality-menu>
  </media-settings-menu-item>
  <media-settings-menu-item class="speed">Speed
    <media-playback-rate-menu slot="submenu" hidden rates="0.5 0.75 1 1.25 1.5 1.75 2">${backButton("Speed")}</media-playback-rate-menu>
  </media-settings-menu-item>
  <media-settings-menu-item class="sound">Audio
    <media-audio-track-menu slot="submenu" hidden>${backButton("Audio")}</media-audio-track-menu>
  </media-settings-menu-item>
  <media-settings-menu-item class="captions">Captions
    <media-captions-menu slot="submenu" hidden>${backButton("Captions")}</media-captions-menu>
  </media-settings-menu-item>
</media-settings-menu>
<media-control-bar class="bar timeline">
  <media-time-range>
    <media-preview-thumbnail slot="preview"></media-preview-thumbnail>
    <media-preview-chapter-display slot="preview"></media-preview-chapter-display>
    <media-preview-time-display slot="preview"></media-preview-time-display>
  </media-time-range>
</media-control-bar>
<media-control-bar class="bar buttons">
  <media-play-button></media-play-button>
  <span class="volume"><media-mute-button></media-mute-button><media-volume-range></media-volume-range></span>
  <span class="live-place"></span>
  <media-time-display showduration notoggle></media-time-display>
  <span class="space"></span>
  <media-captions-button></media-captions-button>
  <media-settings-menu-button><svg slot="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${GEAR}"/></svg></media-settings-menu-button>
  <media-airplay-button></media-airplay-button>
  <media-pip-button></media-pip-button>
  <media-fullscreen-button></media-fullscreen-button>
</media-control-bar>
<div class="ad" slot="dialog" hidden></div>`;

/**
 * Creates the player elements, not yet in the page: extensions of `video` must be added before the controls access it.
 */
export function createLayout(): Layout {
  const controller = document.createElement("media-controller");
  // Stored preferences need storage that may be unavailable to frames from other sites; and the initial volume is set
  // by the embedding page.
  for (const name of ["novolumepref", "nomutedpref", "nosubtitleslangpref"]) controller.setAttribute(name, "");
  controller.setAttribute("aria-label", "Video player");

  const video = document.createElement("video");
  video.slot = "media";
  video.playsInline = true;
  const poster = document.createElement("img");
  poster.slot = "poster";
  poster.alt = "";
  poster.className = "poster";
  poster.hidden = true;
  poster.addEventListener("error", () => void (poster.hidden = true));
  poster.addEventListener("load", () => void (poster.hidden = false));

  const controls = document.createElement("template");
  controls.innerHTML = CONTROLS;
  const notice = createNotice();
  notice.element.slot = "centered-chrome";
  const hint = createHint();
  hint.element.slot = "centered-chrome";
  controller.append(video, poster, controls.content, hint.element, notice.element);
  const chaptersMenu = find(controller, "chapters-menu") as ChaptersMenu;
  // Elements of a template become custom elements only when they are added to the page, but the chapters are set before
  // that.
  customElements.upgrade(chaptersMenu);
  return {
    controller,
    video,
    poster,
    notice,
    hint,
    live: find(controller, ".live-place"),
    top: find(controller, ".top"),
    chaptersMenu,
    chaptersItem: find(controller, "media-settings-menu-item.chapters"),
    chapterNow: find(controller, ".chapter-now"),
    ad: find(controller, ".ad"),
  };
}

function find(within: HTMLElement, selector: string): HTMLElement {
  const element = within.querySelector<HTMLElement>(selector);
  if (element === null) throw new Error(`the player has no ${selector}`);
  return element;
}
