import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { API_BASE } from "./base.ts";
import { DOCS_SCRIPT } from "./docs-page-script.ts";
import type { Operation } from "./operation.ts";

const SCRIPT_HASH = createHash("sha256").update(DOCS_SCRIPT).digest("base64");

/** Users paste tokens into this page, so it must not be framed and must not run other scripts. */
export const DOCS_HEADERS = {
  "content-security-policy": `default-src 'none'; script-src 'sha256-${SCRIPT_HASH}'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

/**
 * All operations on one page, grouped by tag, with a filter; generated from the same declarations as the OpenAPI
 * document.
 */
export function renderDocsPage(operations: Operation[], version: string) {
  const byTag = [...Map.groupBy(operations, ({ tag }) => tag)].sort(([a], [b]) => a.localeCompare(b));
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Reelpost API</title>
      <style>
        ${raw(STYLE)}
      </style>
      <header>
        <h1>Reelpost API <small>${version}</small></h1>
        <p>
          All paths are relative to <code>${API_BASE}</code> and require
          <code>Authorization: Bearer &lt;API token&gt;</code>. Responses have the form
          <code>{ success, errors, messages, result, result_info }</code>. Click an operation to see its parameters and
          an example command; the framed label is the permission that the token requires. The complete description for
          tools is <a href="${API_BASE}/openapi.json">openapi.json</a>.
        </p>
        <input
          id="filter"
          type="search"
          placeholder="Filter ${operations.length} operations"
          aria-label="Filter operations"
          autofocus
        />
        <nav>${byTag.map(([tag]) => html`<a href="#${anchor(tag)}">${tag}</a> `)}</nav>
      </header>
      <main>
        ${byTag.map(
          ([tag, group]) =>
            html` <section id="${anchor(tag)}">
              <h2>${tag}</h2>
              ${group.map(renderOperation)}
            </section>`,
        )}
        <p id="none" hidden>No operation matches.</p>
      </main>
      <script>
        ${raw(DOCS_SCRIPT)};
      </script>
    </html>`;
}

const renderOperation = ({ id, method, path, summary, permission }: Operation) =>
  html` <details id="${id}">
    <summary>
      <code class="${method}">${method.toUpperCase()}</code>
      <code class="path">${path.replaceAll("+}", "}")}</code>
      <span class="what"
        >${summary}${permission === null ? "" : html` <b title="Required permission">${permission}</b>`}</span
      >
    </summary>
  </details>`;

const anchor = (tag: string) => tag.toLowerCase().replace(/[^a-z0-9]+/g, "-");

const STYLE = `
:root { color-scheme: light dark; --line: #8883; --faint: light-dark(#666, #aaa); --panel: light-dark(#f6f7f8, #1e1f21); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 small { color: var(--faint); font-weight: 400; font-size: .6em; }
header p { max-width: 46rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .8rem 0; }
input { font: inherit; width: 100%; padding: .5rem .7rem; box-sizing: border-box; }
section h2 { border-bottom: 1px solid var(--line); margin-top: 2.2rem; }
summary { display: grid; grid-template-columns: 4.8rem 1fr; padding: .45rem 0; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:hover .path { text-decoration: underline; }
.what { grid-column: 2; color: var(--faint); }
.what b { border: 1px solid var(--line); border-radius: .3rem; padding: 0 .4rem; font-size: .85em; font-weight: 400; margin-left: .4rem; white-space: nowrap; }
code, pre { font-size: 14px; } code.path { overflow-wrap: anywhere; }
summary code:first-child { font-weight: 600; }
.more { margin: 0 0 1rem 4.8rem; } .more h3 { font-size: 1em; margin: .6rem 0 .2rem; } .more td { padding: .1rem 1.2rem .1rem 0; vertical-align: top; overflow-wrap: anywhere; }
.more td + td { color: var(--faint); }
pre { background: var(--panel); padding: .6rem .8rem; overflow-x: auto; margin: .4rem 0; }
.get { color: light-dark(#1a7f37, #4ac26b); } .post { color: light-dark(#0969da, #6cb6ff); } .put, .patch { color: light-dark(#9a6700, #d4a72c); } .delete { color: light-dark(#cf222e, #ff8182); }
@media (max-width: 40rem) { .more { margin-left: 0; } summary { grid-template-columns: 4rem 1fr; } }
[hidden] { display: none !important; }`;
