import { MARK_ICON } from "../../kernel/design/tokens.ts";

/** A page of the server: runs only `script`, and escapes user text. */
interface PageDocument {
  title: string;
  /** Lines of the head, as HTML. */
  head?: string[];
  /** URLs relative to the page. */
  style: string;
  script: string;
  nonce: string;
  /** Configuration of the script, as JSON. */
  config: unknown;
  /** Class of the root element. */
  kind: string;
  body?: string;
}

export const pageDocument = ({
  title,
  head = [],
  style,
  script,
  nonce,
  config,
  kind,
  body = "",
}: PageDocument): string => `<!doctype html>
<html lang="en" class="${escapeHtml(kind)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(MARK_ICON)}">
${head.map((line) => `${line}\n`).join("")}<link rel="stylesheet" href="${escapeHtml(style)}">
<script type="application/json" id="config">${jsonInHtml(config)}</script>
<script nonce="${escapeHtml(nonce)}" src="${escapeHtml(script)}" defer></script>
</head>
<body>${body}
<noscript><p class="noscript">This page needs JavaScript.</p></noscript>
</body>
</html>
`;

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** A script element ends at any `</script`, and `<!--` changes how the rest is parsed. */
const jsonInHtml = (value: unknown): string => JSON.stringify(value).replace(/</g, "\\u003c");

/** Relative URL from the page at `url` to the folder `levels` above it; a trailing slash adds one level. */
export const folderAbove = (url: string | undefined, levels: number): string =>
  "../".repeat(levels + ((url ?? "").split("?", 1)[0]?.endsWith("/") === true ? 1 : 0));
