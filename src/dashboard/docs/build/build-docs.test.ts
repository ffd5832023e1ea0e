import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { buildDocs } from "./build-docs.ts";
import { readContents } from "./contents.ts";
import { renderPage } from "./render-page.ts";

const ROOT = join(import.meta.dirname, "../../../..");

describe("the documentation of this source tree", () => {
  let files: Map<string, Buffer>;
  let pages: Map<string, string>;
  before(async () => {
    files = await buildDocs(ROOT);
    pages = new Map(
      [...files]
        .filter(([name]) => name.endsWith(".html"))
        .map(([name, body]) => [
          name === "index.html" ? "/docs" : `/docs/${name.replace(/\.html$/, "")}`,
          String(body),
        ]),
    );
  });

  const idsOf = (page: string) => new Set([...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!));
  const hrefsOf = (page: string) => [...page.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => href!);

  test("every link and every anchor on every page has a target", () => {
    const broken = [...pages].flatMap(([url, page]) =>
      hrefsOf(page)
        .filter((href) => !isTarget(url, href))
        .map((href) => `${url}: ${href}`),
    );
    assert.ok(pages.size > 40, `${pages.size} pages`);
    assert.deepEqual(broken, []);
  });

  function isTarget(url: string, href: string): boolean {
    if (/^(https?|mailto):/.test(href) || href === "/" || href === "/reference") return true;
    const [path = "", anchor] = href.split("#") as [string, string?];
    const page = pages.get(path === "" ? url : path);
    return page !== undefined && (anchor === undefined || idsOf(page).has(anchor));
  }

  test("all pages can be reached from the start page", () => {
    const reached = new Set(["/docs"]);
    for (const url of reached)
      for (const href of hrefsOf(pages.get(url)!)) {
        const path = href.split("#")[0]!;
        if (pages.has(path)) reached.add(path);
      }
    assert.deepEqual(
      [...pages.keys()].filter((url) => !reached.has(url)),
      [],
    );
  });

  test("pages load only files from this server, and have no inline scripts or styles", () => {
    for (const [url, page] of pages) {
      for (const [, source] of page.matchAll(/<(?:script|img|link)\b[^>]*(?:src|href)="([^"]*)"/g)) {
        assert.match(source!, /^\/docs\//, url);
        assert.ok(files.has(source!.slice("/docs/".length)), `${url}: ${source}`);
      }
      assert.doesNotMatch(page, /<style|<script(?![^>]* src=)| style="| on\w+="/, url);
      assert.equal([...page.matchAll(/<h1>/g)].length, 1, url);
    }
  });

  test("the search index contains the sections of every page, with the anchors of their headings", () => {
    const sections = JSON.parse(String(files.get("search.json"))) as { url: string; anchor: string; text: string }[];
    assert.deepEqual(
      [...pages.keys()].filter((url) => url !== "/docs" && !sections.some((section) => section.url === url)),
      [],
    );
    for (const { url, anchor } of sections)
      assert.ok(anchor === "" || idsOf(pages.get(url)!).has(anchor), `${url}#${anchor}`);
    assert.ok(sections.some(({ url, text }) => url === "/docs/settings" && text.includes("dashboard.hosts")));
  });
});

describe("rendering a page", () => {
  const render = (markdown: string, path = "docs/mail.md") => renderPage({ path, markdown });

  test("shows HTML as text and ignores links that run scripts", () => {
    const { html } = render("<script>alert(1)</script>\n\n<img src=x onerror=a> [x](javascript:alert(1))\n");
    assert.doesNotMatch(html, /<script|<img|href="javascript/);
    assert.match(html, /&lt;script&gt;/);
  });

  test("creates links to pages, sections, examples and the files in their folders", () => {
    const { html } = render(
      "[a](dns.md) [b](dns.md#records) [c](#here) [d](../examples/inbox/README.md) [e](../deploy/settings.jsonc) [f](README.md) [g](https://example.com/x)",
    );
    assert.deepEqual(
      [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
      [
        "/docs/dns",
        "/docs/dns#records",
        "#here",
        "/docs/files/examples/inbox",
        "/docs/files/deploy#settingsjsonc",
        "/docs",
        "https://example.com/x",
      ],
    );
  });

  test("generates the same heading anchors as GitHub, with a suffix for duplicates", () => {
    const { title, headings } = render("# Mail\n\n## The `queue`: retry & cancel\n\n## Errors\n\n## Errors\n");
    assert.equal(title, "Mail");
    assert.deepEqual(
      headings.map(({ anchor }) => anchor),
      ["the-queue-retry--cancel", "errors", "errors-1"],
    );
  });

  test("keeps code unchanged, and highlights JSON and TypeScript", () => {
    const { html } = render('```jsonc\n{ "a": 1 } // one\n```\n\n```ts\nconst b = "<i>";\n```\n\n```text\n<b>\n```\n');
    const text = html.replaceAll(/<[^>]+>/g, "").replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code));
    assert.match(text, /\{ "a": 1 \} \/\/ one\n/);
    assert.match(text, /const b = "<i>";\n/);
    assert.match(html, /<span class="tok-comment">\/\/ one<\/span>/);
    assert.match(html, /<span class="tok-keyword">const<\/span>/);
    assert.match(text, /<b>/);
    assert.match(render("```ts src/a.ts\nx\n```\n").html, /<div class="file">src\/a\.ts<\/div>/);
    assert.doesNotMatch(render("```sh server\nx\n```\n").html, /class="file"/);
  });
});

test("reads the groups and pages in the table of contents", () => {
  assert.deepEqual(readContents("# D\n\n## Mail\n\n| page | content |\n|---|---|\n| [DNS](dns.md) | records |\n"), [
    { title: "Mail", entries: [{ title: "DNS", path: "docs/dns.md", description: "records" }] },
  ]);
});
