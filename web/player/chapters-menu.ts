import { MediaChromeMenu, type MediaChromeMenuItem } from "media-chrome/menu";
import type { PlayerVideo } from "../../src/stream/player/page-config.ts";
import { h } from "./elements.ts";

type Chapters = PlayerVideo["chapters"];

/** A menu of chapters, with the title and start of each. */
export class ChaptersMenu extends MediaChromeMenu {
  #chapters: Chapters = [];
  /** Called with the start of the chapter that the viewer selected, in seconds. */
  onSelect: (start: number) => void = () => {};

  override connectedCallback(): void {
    super.connectedCallback();
    this.addEventListener("change", this.#select);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.removeEventListener("change", this.#select);
  }

  show(chapters: Chapters): void {
    this.#chapters = chapters;
    this.defaultSlot.replaceChildren(...chapters.map(createItem));
  }

  /** Marks the chapter at `index`; -1 marks none. */
  mark(index: number): void {
    for (const [i, item] of [...this.defaultSlot.children].entries())
      (item as MediaChromeMenuItem).checked = i === index;
  }

  #select = (): void => {
    const chapter = this.#chapters[Number(this.value)];
    if (chapter !== undefined) this.onSelect(chapter.start);
  };
}

function createItem({ start, title }: Chapters[number], index: number): MediaChromeMenuItem {
  const item = document.createElement("media-chrome-menu-item") as MediaChromeMenuItem;
  item.type = "radio";
  item.value = String(index);
  item.append(
    h("span", { class: "chapter-title" }, title),
    h("span", { class: "chapter-start", slot: "suffix" }, clockText(start)),
  );
  return item;
}

/** Formats a time as `0:05` or `1:02:03`. */
function clockText(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(Math.floor(seconds) % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

customElements.define("chapters-menu", ChaptersMenu);
