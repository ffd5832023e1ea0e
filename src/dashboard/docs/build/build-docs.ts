import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { bundledLicenses } from "../../../kernel/bundled-licenses.ts";
import { tokensPlugin } from "../../../kernel/design/index.ts";
import { MARK_ICON } from "../../../kernel/design/tokens.ts";
import { readContents } from "./contents.ts";
import { docsPage, type Layout } from "./layout.ts";
import { DOCS_PATH, renderPage, urlOfPage } from "./render-page.ts";
import { readSourcePages } from "./source-pages.ts";

/** Prefix of scripts and styles. */
const ASSETS = `${DOCS_PATH}/assets/`;

/**
 * Builds the documentation from `docs/` in the folder `root`. Returns the files by name: `index.html`, `mail.html`,
 * `files/examples/inbox.html`, `search.json`, `images/…` and `assets/…` under names with a hash of their content.
 */
export async function buildDocs(root: string): Promise<Map<string, Buffer>> {
  const [pages, assets, images] = await Promise.all([readSourcePages(root), bundleAssets(root), readImages(root)]);
  const contents = readContents(pages.find(({ path }) => path === "docs/README.md")?.markdown ?? "");
  const files = new Map([...assets.files, ...images]);
  const sections = [];
  for (const page of pages) {
    const rendered = renderPage(page);
    const url = urlOfPage(page.path);
    const name = url === DOCS_PATH ? "index" : url.slice(DOCS_PATH.length + 1);
    files.set(`${name}.html`, Buffer.from(docsPage({ contents, ...assets.urls }, page.path, rendered)));
    if (page.path !== "docs/README.md")
      sections.push(...rendered.sections.map((section) => ({ url, title: rendered.title, ...section })));
  }
  return files.set("search.json", Buffer.from(JSON.stringify(sections)));
}

async function bundleAssets(root: string): Promise<{ files: Map<string, Buffer>; urls: Omit<Layout, "contents"> }> {
  const folder = join(root, "web/docs");
  const { outputFiles, metafile } = await build({
    entryPoints: ["docs.ts", "scheme.ts", "docs.css"].map((file) => join(folder, file)),
    outdir: "/",
    entryNames: "[name]-[hash]",
    write: false,
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    target: ["es2022", "safari16.4"],
    absWorkingDir: folder,
    plugins: [tokensPlugin],
    legalComments: "none",
    banner: { js: "/* Parts of others: licenses.txt in this folder. */" },
    logLevel: "silent",
  });
  const icon = `icon-${createHash("sha256").update(MARK_ICON).digest("hex").slice(0, 8)}.svg`;
  const files = new Map(outputFiles.map((file) => [`assets/${basename(file.path)}`, Buffer.from(file.contents)]));
  files.set(`assets/${icon}`, Buffer.from(MARK_ICON));
  files.set("assets/licenses.txt", Buffer.from(await bundledLicenses(Object.keys(metafile.inputs), folder)));
  const urlOf = (pattern: RegExp) =>
    `${ASSETS}${outputFiles.map((file) => basename(file.path)).find((name) => pattern.test(name))}`;
  return {
    files,
    urls: {
      script: urlOf(/^docs-.*\.js$/),
      schemeScript: urlOf(/^scheme-/),
      style: urlOf(/\.css$/),
      icon: `${ASSETS}${icon}`,
    },
  };
}

async function readImages(root: string): Promise<[name: string, body: Buffer][]> {
  const folder = join(root, "docs/images");
  return Promise.all(
    (await readdir(folder)).map(async (name): Promise<[string, Buffer]> => [
      `images/${name}`,
      await readFile(join(folder, name)),
    ]),
  );
}
