import { html, raw } from "hono/html";
import { API_BASE } from "./base.ts";
import type { Operation } from "./operation.ts";

/** The operations on one page, grouped by tag, with a filter; made of the same declarations as the OpenAPI document beside it. */
export function renderDocsPage(operations: Operation[], version: string) {
  const byTag = [...Map.groupBy(operations, ({ tag }) => tag)].sort(([a], [b]) => a.localeCompare(b));
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reelpost API</title>
<style>${raw(STYLE)}</style>
<header>
  <h1>Reelpost API <small>${version}</small></h1>
  <p>Every path is below <code>${API_BASE}</code> and wants <code>Authorization: Bearer &lt;API token&gt;</code>. Answers come as <code>{ success, errors, messages, result, result_info }</code>.
  The whole description, for tools: <a href="${API_BASE}/openapi.json">openapi.json</a>.</p>
  <input id="filter" type="search" placeholder="Filter ${operations.length} operations" aria-label="Filter operations" autofocus>
  <nav>${byTag.map(([tag]) => html`<a href="#${anchor(tag)}">${tag}</a> `)}</nav>
</header>
<main>${byTag.map(([tag, group]) => html`
  <section id="${anchor(tag)}"><h2>${tag}</h2>${group.map(renderOperation)}</section>`)}
</main>
<script>${raw(SCRIPT)}</script>
</html>`;
}

const renderOperation = ({ id, method, path, summary, permission }: Operation) => html`
  <article id="${id}">
    <code class="${method}">${method.toUpperCase()}</code> <code class="path">${path.replaceAll("+}", "}")}</code>
    <p>${summary}${permission === null ? "" : html` <span title="What the token must allow">${permission}</span>`}</p>
  </article>`;

const anchor = (tag: string) => tag.toLowerCase().replace(/[^a-z0-9]+/g, "-");

const STYLE = `
:root { color-scheme: light dark; --line: #8883; --faint: #777; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 small { color: var(--faint); font-weight: 400; font-size: .6em; }
header p { max-width: 46rem; }
nav { margin: .8rem 0; line-height: 2; } nav a { margin-right: .8rem; }
input { font: inherit; width: 100%; padding: .5rem .7rem; box-sizing: border-box; }
section h2 { border-bottom: 1px solid var(--line); margin-top: 2.2rem; }
article { padding: .45rem 0; } article p { margin: 0 0 0 5.2rem; color: var(--faint); } article span { border: 1px solid var(--line); border-radius: .3rem; padding: 0 .4rem; font-size: .85em; margin-left: .4rem; white-space: nowrap; }
code.path { overflow-wrap: anywhere; }
article > code:first-child { display: inline-block; width: 4.8rem; font-weight: 600; }
.get { color: #1a7f37; } .post { color: #0969da; } .put, .patch { color: #9a6700; } .delete { color: #cf222e; }
[hidden] { display: none; }`;

const SCRIPT = `
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(" ").filter(Boolean);
  for (const section of document.querySelectorAll("section")) {
    let shown = 0;
    for (const article of section.querySelectorAll("article")) {
      const text = (section.firstElementChild.textContent + " " + article.id + " " + article.textContent).toLowerCase();
      article.hidden = !words.every((word) => text.includes(word));
      if (!article.hidden) shown++;
    }
    section.hidden = shown === 0;
  }
});`;
