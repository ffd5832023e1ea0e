/** Returns the visible text of HTML, approximately: without tags, scripts and styles. Takes linear time. */
export function textOfHtml(html: string): string {
  const lower = html.toLowerCase();
  let text = "";
  let at = 0;
  while (at < html.length) {
    const tag = html.indexOf("<", at);
    if (tag < 0) break;
    text += `${html.slice(at, tag)} `;
    const hidden = ["script", "style", "title", "!--"].find((name) => lower.startsWith(name, tag + 1));
    const end = hidden === undefined ? ">" : hidden === "!--" ? "-->" : `</${hidden}`;
    const close = lower.indexOf(end, tag + 1);
    if (close < 0) {
      at = html.length;
      break;
    }
    at = close + end.length;
    if (hidden !== undefined && hidden !== "!--") {
      const closeEnd = lower.indexOf(">", at);
      at = closeEnd < 0 ? html.length : closeEnd + 1;
    }
  }
  return decodeEntities(text + html.slice(at))
    .replace(/\s+/g, " ")
    .trim();
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

const decodeEntities = (text: string) =>
  text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,5}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : whole;
    },
  );
