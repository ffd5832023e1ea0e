import { MediaRenditionMenu } from "media-chrome/menu";

/** Suffix of the id of the rendition that is the uploaded file. */
export const ORIGINAL = "-original";

/** Quality menu: Auto first, the uploaded file marked as original. */
class QualityMenu extends MediaRenditionMenu {
  static override formatRendition(
    rendition: { id?: string; width?: number; height?: number },
    options?: { showBitrate?: boolean },
  ): string {
    const isOriginal = rendition.id?.endsWith(ORIGINAL) === true;
    const text = super.formatRendition(rendition as never, isOriginal ? {} : options);
    return isOriginal ? `${text} original` : text;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // media-chrome appends Auto on every render; it must be moved in the DOM because arrow keys follow DOM order.
    new MutationObserver(() => this.#autoFirst()).observe(this.defaultSlot, { childList: true });
    this.#autoFirst();
  }

  #autoFirst(): void {
    const items = [...this.defaultSlot.children] as (Element & { value?: string })[];
    const auto = items.find(({ value }) => value === "auto");
    if (auto !== undefined && auto !== items[0]) this.defaultSlot.prepend(auto);
  }
}

customElements.define("quality-menu", QualityMenu);
