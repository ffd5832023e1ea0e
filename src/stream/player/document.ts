/** A page of ours: nothing in it runs but `script`, and what people wrote stands in it escaped. */
export interface PageDocument {
  title: string;
  /** Lines of the head, ready made. */
  head?: string[];
  /** Addresses relative to the page. */
  style: string;
  script: string;
  nonce: string;
  /** For the script, as JSON. */
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
<link rel="icon" href="data:,">
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

/** A script element ends at `</script` wherever it stands, and `<!--` changes how the rest is read. */
const jsonInHtml = (value: unknown): string => JSON.stringify(value).replace(/</g, "\\u003c");

/** From the page at `url` to the folder `levels` above it: a slash at the end of the address is one level more. */
export const folderAbove = (url: string | undefined, levels: number): string =>
  "../".repeat(levels + ((url ?? "").split("?", 1)[0]?.endsWith("/") === true ? 1 : 0));
