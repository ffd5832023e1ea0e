import { escapeText, MARK_SVG } from "../../../kernel/design/index.ts";
import type { ContentsGroup } from "./contents.ts";
import { DOCS_PATH, urlOfPage, type RenderedPage } from "./render-page.ts";

export interface Layout {
  contents: readonly ContentsGroup[];
  /** URLs of the script and the style sheet, and of the script that selects the color scheme before the first paint. */
  script: string;
  schemeScript: string;
  style: string;
  icon: string;
}

/** Returns the HTML document of a docs page. */
export function docsPage(
  { contents, script, schemeScript, style, icon }: Layout,
  path: string,
  { title, html, headings }: RenderedPage,
): string {
  const isIndex = path === "docs/README.md";
  const onPage = headings.filter(({ level }) => level === 2 || level === 3);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${isIndex ? "Reelpost documentation" : `${escapeText(title)} · Reelpost documentation`}</title>
<link rel="icon" href="${icon}">
<script src="${schemeScript}"></script>
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="${DOCS_PATH}">${MARK_SVG}<span>Reelpost <small>docs</small></span></a>
<div class="search" role="search"><input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></div>
<nav class="top" aria-label="Server"><a href="/">Dashboard</a><a href="/reference">API reference</a></nav>
</header>
<div class="frame">
<details class="pages"><summary>All pages</summary>${navigation(contents, path)}</details>
<nav class="pages" aria-label="Documentation">${navigation(contents, path)}</nav>
<main id="main" tabindex="-1">
<article${isIndex ? ' class="index"' : ""}>
<h1>${escapeText(isIndex ? "Documentation" : title)}</h1>
${isIndex ? indexOf(contents) : html}</article>
${isIndex ? "" : neighbours(contents, path)}</main>
${onPage.length < 2 || isIndex ? "" : `<nav class="on-page" aria-label="On this page"><strong>On this page</strong><ul>${onPage.map(({ level, text, anchor }) => `<li class="level-${level}"><a href="#${escapeText(anchor)}">${escapeText(text)}</a></li>`).join("")}</ul></nav>`}
</div>
</body>
</html>
`;
}

const navigation = (contents: readonly ContentsGroup[], current: string) =>
  contents
    .map(
      ({ title, entries }) =>
        `<section><strong>${escapeText(title)}</strong><ul>${entries
          .map(
            (entry) =>
              `<li><a href="${urlOfPage(entry.path)}"${entry.path === current ? ' aria-current="page"' : ""}>${escapeText(entry.title)}</a></li>`,
          )
          .join("")}</ul></section>`,
    )
    .join("");

const indexOf = (contents: readonly ContentsGroup[]) =>
  '<p class="lead">These pages describe the version that this server runs.</p>\n' +
  contents
    .map(
      ({ title, entries }) =>
        `<h2>${escapeText(title)}</h2>\n<ul class="cards">${entries
          .map(
            (entry) =>
              `<li><a href="${urlOfPage(entry.path)}"><strong>${escapeText(entry.title)}</strong><span>${withCode(entry.description)}</span></a></li>`,
          )
          .join("")}</ul>\n`,
    )
    .join("");

/** Formats a description as a complete sentence. A command keeps its case. */
const withCode = (markdown: string) =>
  escapeText(markdown.slice(0, 1).toUpperCase() + markdown.slice(1)).replace(/`([^`]+)`/g, "<code>$1</code>");

function neighbours(contents: readonly ContentsGroup[], current: string): string {
  const entries = contents.flatMap((group) => group.entries);
  const index = entries.findIndex(({ path }) => path === current);
  if (index < 0) return "";
  const link = (kind: "previous" | "next", entry: (typeof entries)[number] | undefined) =>
    entry === undefined
      ? ""
      : `<a class="${kind}" href="${urlOfPage(entry.path)}"><small>${kind === "next" ? "Next" : "Previous"}</small>${escapeText(entry.title)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next page">${link("previous", entries[index - 1])}${link("next", entries[index + 1])}</nav>`;
}
