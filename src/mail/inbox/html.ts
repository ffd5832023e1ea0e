import type { MessageContent } from "../archive/index.ts";

/** Larger images are left out of the page. */
const MAX_EMBEDDED_BYTES = 10 * 1024 * 1024;
/** Types that a browser shows as images. SVG is among them, because images run no scripts. */
const IMAGE = /^image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/;

/**
 * Returns the Content-Security-Policy of a message's HTML: no scripts, no forms, no frames. `remote` allows images,
 * styles and fonts from other servers, which can notify the sender.
 */
export const htmlPolicy = ({ remote }: { remote: boolean }): string => {
  const sources = remote ? " http: https:" : "";
  return `default-src 'none'; img-src data:${sources}; style-src 'unsafe-inline'${sources}; font-src data:${sources}; form-action 'none'; base-uri 'none'`;
};

/**
 * Returns the HTML of a message as one self-contained page: images of the message become data: URLs, and the policy is
 * also in the page, for a frame with `srcdoc`. Undefined if the message has no HTML.
 */
export function messageHtmlPage(
  { html, attachments }: MessageContent,
  options: { remote: boolean },
): string | undefined {
  if (html === undefined) return undefined;
  const images = new Map(
    attachments.flatMap(({ contentId, type, content }) =>
      contentId !== undefined && IMAGE.test(type) ? [[contentId, { type, content }] as const] : [],
    ),
  );
  let embeddedBytes = 0;
  const page = html.replace(/\bcid:([^\s"'<>()]+)/gi, (whole, id: string) => {
    const image = images.get(id) ?? images.get(decoded(id));
    if (image === undefined) return whole;
    embeddedBytes += image.content.length;
    if (embeddedBytes > MAX_EMBEDDED_BYTES) return whole;
    return `data:${image.type};base64,${Buffer.from(image.content).toString("base64")}`;
  });
  // Before everything else, so that nothing in the message is loaded first.
  return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${htmlPolicy(options)}"><base target="_blank">${page}`;
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
