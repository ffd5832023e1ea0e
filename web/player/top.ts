import type { PlayerVideo } from "../../src/stream/player/page-config.ts";
import { h, icon } from "./elements.ts";
import { httpUrl } from "./options.ts";

const LINK =
  "M10.6 13.4a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1.4 1.4 1.1 1.1L14.7 5.8a2.4 2.4 0 0 1 3.5 3.5l-3 3a2.4 2.4 0 0 1-3.5 0zm2.8-2.8a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1.4-1.4-1.1-1.1-1.4 1.4a2.4 2.4 0 0 1-3.5-3.5l3-3a2.4 2.4 0 0 1 3.5 0z";
const COPIED_MS = 2000;

/** Shows the logo, the title and the share link, if the owner of the video set them. */
export function showDetails(top: HTMLElement, { title, share_link, channel_link, logo }: PlayerVideo["details"]): void {
  const channel = httpUrl(channel_link);
  const logoUrl = httpUrl(logo);
  const shareUrl = httpUrl(share_link);
  const image =
    logoUrl === undefined
      ? undefined
      : h("img", { class: "logo", src: logoUrl, alt: channel === undefined ? "" : "Channel" });
  top.replaceChildren();
  if (image !== undefined)
    top.append(channel === undefined ? image : h("a", { href: channel, target: "_blank", rel: "noopener" }, image));
  if (title !== null && title !== "") top.append(h("span", { class: "title" }, title));
  if (shareUrl !== undefined) top.append(createShareButton(shareUrl));
  top.hidden = top.childElementCount === 0;
}

function createShareButton(link: string): HTMLElement {
  const label = h("span", { role: "status" });
  const button = h("button", { type: "button", class: "share", "aria-label": "Copy link" }, label);
  button.append(icon(LINK));
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(link).then(
      () => showStatus("Link copied"),
      // Sharing from a frame needs a permission that pages rarely grant.
      () => void window.open(link, "_blank", "noopener"),
    );
  });
  function showStatus(text: string): void {
    label.textContent = text;
    setTimeout(() => void (label.textContent = ""), COPIED_MS);
  }
  return button;
}
