import { createHash } from "node:crypto";
import { MARK_ICON, MARK_PATH, TOKENS_CSS } from "./tokens.ts";

interface HtmlPage {
  title: string;
  /** HTML of the main part. Values in it must be escaped. */
  body: string;
  /** Name of the site in the header; null omits the header. Default "Reelpost". */
  brand?: string | null;
  /** Default: follows the system. */
  scheme?: "dark";
  /** `narrow`: a card in the middle of the window. Default `wide`. */
  layout?: "wide" | "narrow";
}

/** Renders a page without scripts, in the design that all pages share. Send it with `PAGE_POLICY`. */
export const htmlPage = ({
  title,
  body,
  brand = "Reelpost",
  scheme,
  layout = "wide",
}: HtmlPage): string => `<!doctype html>
<html lang="en"${scheme === undefined ? "" : ` data-scheme="${scheme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeText(title)}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(MARK_ICON)}">
<style>${STYLE}</style>
</head>
<body class="${layout}">
${brand === null ? "" : headerOf(brand)}<main>
${body}
</main>
</body>
</html>
`;

export const MARK_SVG = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="${MARK_PATH}"/></svg>`;

const headerOf = (brand: string) => `<header><span class="brand">${MARK_SVG}${escapeText(brand)}</span></header>\n`;

/** Escapes text for HTML, including attribute values. */
export const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const STYLE = `${TOKENS_CSS}
*{box-sizing:border-box}
html{font-size:16px;-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;background:var(--rp-page);color:var(--rp-text);font:.9375rem/1.55 var(--rp-font);font-variant-numeric:tabular-nums;-webkit-font-smoothing:antialiased}
header{display:flex;align-items:center;justify-content:space-between;gap:.5rem 1.5rem;flex-wrap:wrap;padding:.75rem clamp(1rem,4vw,2rem);border-bottom:1px solid var(--rp-border);background:var(--rp-surface)}
.brand{display:inline-flex;align-items:center;gap:.5rem;font-weight:650;letter-spacing:-.01em}
.mark{width:1.375rem;height:1.375rem;fill:var(--rp-mark);flex:none}
main{flex:1;width:100%;max-width:60rem;margin:0 auto;padding:clamp(2rem,8vh,5rem) clamp(1rem,4vw,2rem) 3rem}
.narrow main{display:flex;flex-direction:column;justify-content:center;align-items:flex-start;max-width:34rem;padding-block:2rem 12vh}
h1{margin:0 0 .5rem;font-size:clamp(1.5rem,1.2rem + 1.4vw,2rem);line-height:1.2;font-weight:650;letter-spacing:-.02em;text-wrap:balance}
.narrow h1{font-size:1.375rem}
h2{margin:2.5rem 0 .75rem;font-size:1rem;font-weight:600}
p{margin:0 0 1rem;max-width:38rem;overflow-wrap:anywhere}
p:last-child{margin-bottom:0}
.lead,.detail{color:var(--rp-muted)}
.lead{font-size:1.0625rem}
.detail{font-size:.875rem}
.hero{padding-block:clamp(1rem,6vh,4rem) .5rem}
.hero .mark{width:3.5rem;height:3.5rem;margin:0 0 1rem -.25rem}
.hero h1{font-size:clamp(1.875rem,1.3rem + 2.6vw,3rem);letter-spacing:-.03em;max-width:20ch}
.hero .lead{max-width:34rem;text-wrap:balance}
.buttons{display:flex;flex-wrap:wrap;gap:.625rem;margin-top:1.75rem}
.button.plain{background:none;border-color:var(--rp-border-strong);color:var(--rp-text)}
.button.plain:hover{background:var(--rp-surface-hover)}
.status{display:inline-block;margin-bottom:1rem;padding:.125rem .5rem;border-radius:4px;font-size:.8125rem;font-weight:600;color:var(--rp-neutral);background:var(--rp-neutral-bg)}
.status.good{color:var(--rp-good);background:var(--rp-good-bg)}
.status.bad{color:var(--rp-bad);background:var(--rp-bad-bg)}
a{color:var(--rp-link);text-underline-offset:.15em}
code{font:.875em/1.5 var(--rp-mono);overflow-wrap:anywhere}
.button,button{display:inline-flex;align-items:center;min-height:2.5rem;padding:0 1rem;border:1px solid var(--rp-accent);border-radius:var(--rp-radius);background:var(--rp-accent);color:var(--rp-on-accent);font:inherit;font-weight:550;text-decoration:none;cursor:pointer}
.button:hover,button:hover{background:var(--rp-accent-hover);border-color:var(--rp-accent-hover)}
:focus-visible{outline:2px solid var(--rp-link);outline-offset:2px}
.features{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,15rem),1fr));gap:1.5rem 2rem;margin:3.5rem 0 0;padding:2rem 0 0;border-top:1px solid var(--rp-border);list-style:none}
.features strong{display:block;margin-bottom:.25rem;font-weight:600}
.features span{color:var(--rp-muted);font-size:.875rem}
@media (max-width:40rem){.narrow main{justify-content:flex-start;padding-top:15vh}}`;

/** The Content-Security-Policy of a page that other sites may frame: only its own style, no scripts. */
export const FRAMED_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'self'`;

/** The Content-Security-Policy of all other pages. */
export const PAGE_POLICY = `${FRAMED_PAGE_POLICY}; frame-ancestors 'none'`;
