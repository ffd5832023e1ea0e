import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { MARK_SVG } from "../kernel/design/index.ts";
import { MARK_ICON, TOKENS_CSS } from "../kernel/design/tokens.ts";
import { API_BASE } from "./base.ts";
import { DOCS_SCRIPT } from "./docs-page-script.ts";
import type { Operation } from "./operation.ts";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/**
 * Returns all operations on one page, grouped by tag, with a filter; generated from the same declarations as the
 * OpenAPI document. It is public. The dashboard page /reference can also send requests.
 */
export function renderDocsPage(operations: Operation[]) {
  const byTag = [...Map.groupBy(operations, ({ tag }) => tag)].sort(([a], [b]) => a.localeCompare(b));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Reelpost API</title>
        <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(MARK_ICON)}" />
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <a class="brand" href="/">${raw(MARK_SVG)} Reelpost <small>API reference</small></a>
          <input
            id="filter"
            type="search"
            placeholder="Filter ${operations.length} operations"
            aria-label="Filter operations"
          />
          <a href="${API_BASE}/openapi.json">openapi.json</a>
        </header>
        <div class="frame">
          <nav aria-label="Groups">${byTag.map(([tag]) => html`<a href="#${anchor(tag)}">${tag}</a> `)}</nav>
          <main>
            <h1>API reference</h1>
            <p>
              All paths are relative to <code>${API_BASE}</code> and require
              <code>Authorization: Bearer &lt;API token&gt;</code>. Responses have the form
              <code>{ success, errors, messages, result, result_info }</code>. Open an operation to see its parameters
              and an example command; the label at its right is the permission that the token requires.
            </p>
            ${byTag.map(
              ([tag, group]) =>
                html` <section id="${anchor(tag)}">
                  <h2>${tag}</h2>
                  <div>${group.map(renderOperation)}</div>
                </section>`,
            )}
            <p id="none" hidden>No operation matches.</p>
          </main>
        </div>
        ${raw(`<script>${DOCS_SCRIPT}</script>`)}
      </body>
    </html>`;
}

const renderOperation = ({ id, method, path, summary, permission }: Operation) =>
  html` <details id="${id}">
    <summary>
      <code class="method ${method}">${method.toUpperCase()}</code>
      <code class="path">${path.replaceAll("+}", "}")}</code>
      <span class="what">${summary}</span>
      ${permission === null ? "" : html`<b title="Required permission">${permission}</b>`}
    </summary>
  </details>`;

const anchor = (tag: string) => tag.toLowerCase().replace(/[^a-z0-9]+/g, "-");

const STYLE = `${TOKENS_CSS}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem}
body{margin:0;background:var(--rp-page);color:var(--rp-text);font:.9375rem/1.55 var(--rp-font);-webkit-font-smoothing:antialiased}
a{color:var(--rp-link);text-underline-offset:.15em}
small{color:var(--rp-muted);font-weight:400}
:focus-visible{outline:2px solid var(--rp-link);outline-offset:2px}
header{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1rem;padding:.625rem clamp(1rem,3vw,1.5rem);border-bottom:1px solid var(--rp-border);background:var(--rp-surface);font-size:.875rem}
.brand{display:inline-flex;align-items:center;gap:.5rem;color:inherit;font-size:.9375rem;font-weight:650;letter-spacing:-.01em;text-decoration:none}
.mark{width:1.375rem;height:1.375rem;fill:var(--rp-mark);flex:none}
input{flex:1;max-width:28rem;min-width:10rem;height:2.125rem;margin-left:auto;padding:0 .75rem;border:1px solid var(--rp-border-strong);border-radius:var(--rp-radius);background:var(--rp-page);color:inherit;font:inherit}
input::placeholder{color:var(--rp-muted);opacity:1}
.frame{display:grid;grid-template-columns:15rem minmax(0,1fr);max-width:88rem;margin:0 auto}
nav{position:sticky;top:3.5rem;align-self:start;max-height:calc(100vh - 3.5rem);overflow-y:auto;padding:1.5rem 1rem;font-size:.875rem}
nav a{display:block;padding:.25rem .625rem;border-radius:var(--rp-radius);color:var(--rp-muted);text-decoration:none}
nav a:hover{color:var(--rp-text);background:var(--rp-surface-hover)}
main{min-width:0;padding:2rem clamp(1rem,3vw,2.5rem) 4rem;border-left:1px solid var(--rp-border)}
h1{margin:0 0 .75rem;font-size:clamp(1.5rem,1.2rem + 1.4vw,2rem);line-height:1.2;letter-spacing:-.02em}
main>p{max-width:46rem;color:var(--rp-muted)}
h2{margin:2.5rem 0 .5rem;font-size:1.125rem;letter-spacing:-.01em}
section>div{border:1px solid var(--rp-border);border-radius:8px;overflow:hidden}
details{box-shadow:0 -1px var(--rp-border)}
summary{display:grid;grid-template-columns:4.5rem minmax(0,1fr) auto;gap:0 .75rem;align-items:baseline;padding:.5rem .875rem;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary:hover{background:var(--rp-surface)}
details[open]>summary{background:var(--rp-surface);border-bottom:1px solid var(--rp-border)}
.what{grid-column:2;grid-row:2;color:var(--rp-muted);font-size:.875rem}
summary b{grid-column:3;grid-row:1/span 2;align-self:center;padding:.0625rem .5rem;border-radius:4px;background:var(--rp-neutral-bg);color:var(--rp-neutral);font-size:.75rem;font-weight:500}
code,pre{font:.8125rem/1.55 var(--rp-mono)}
code.path{overflow-wrap:anywhere}
.method{font-weight:600}
.get{color:var(--rp-good)}.post{color:var(--rp-info)}.put,.patch{color:var(--rp-warning)}.delete{color:var(--rp-bad)}
.more{padding:.75rem .875rem 1rem}
.more h3{margin:.75rem 0 .25rem;font-size:.875rem}
.more td{padding:.125rem 1.25rem .125rem 0;vertical-align:top;overflow-wrap:anywhere;font-size:.875rem}
.more td+td{color:var(--rp-muted)}
pre{margin:.5rem 0 0;padding:.75rem 1rem;border:1px solid var(--rp-border);border-radius:8px;background:var(--rp-surface);overflow-x:auto}
@media (max-width:52rem){header{position:static}html{scroll-padding-top:1rem}.frame{display:block}nav{position:static;display:flex;max-height:none;padding:.5rem;overflow-x:auto;white-space:nowrap;border-bottom:1px solid var(--rp-border)}header>a:last-of-type{margin-left:auto}main{border:0;padding-top:1.5rem}summary{grid-template-columns:3.75rem minmax(0,1fr)}summary b{grid-column:2;grid-row:3;justify-self:start;margin-top:.25rem}input{flex-basis:100%;max-width:none;order:1}}
[hidden]{display:none!important}`;

/** The page must not be framed and must not run other scripts: browser apps that send tokens may use this origin. */
export const DOCS_HEADERS = {
  "content-security-policy": `default-src 'none'; script-src ${hashOf(DOCS_SCRIPT)}; style-src ${hashOf(STYLE)}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};
