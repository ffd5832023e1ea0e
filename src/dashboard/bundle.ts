import { build, type Metafile } from "esbuild";
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { bundledLicenses } from "../kernel/bundled-licenses.ts";
import { MARK_ICON } from "../kernel/design/tokens.ts";
import { directImports } from "./direct-imports.ts";

/** Main module of the pages. */
const ENTRY = "main.tsx";

/**
 * Bundles `web/dashboard`: the page, one script per area, and style sheets, under names with a hash of their content,
 * for browsers of the last three years. `index.html` loads them. `entry`: another main module, for tests.
 */
export async function bundleDashboard(folder: string, entry = ENTRY): Promise<Map<string, Buffer>> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, entry)],
    outdir: "/",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    format: "esm",
    jsx: "automatic",
    target: ["es2022", "safari16.4"],
    absWorkingDir: folder,
    plugins: [directImports(folder)],
    legalComments: "none",
    banner: { js: "/* Parts of others: /assets/licenses.txt of this server. */" },
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map(outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]));
  const icon = Buffer.from(MARK_ICON);
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  files.set(iconName, icon);
  files.set("index.html", Buffer.from(documentOf(metafile, entry, iconName)));
  return files.set("licenses.txt", Buffer.from(await bundledLicenses(Object.keys(metafile.inputs), folder)));
}

function documentOf({ outputs }: Metafile, entry: string, icon: string): string {
  const [script, { cssBundle }] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry)!;
  const preloaded = outputs[script]!.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
  const url = (path: string) => `/assets/${basename(path)}`;
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    "<title>Reelpost</title>",
    `<link rel="icon" href="${url(icon)}">`,
    ...(cssBundle === undefined ? [] : [`<link rel="stylesheet" href="${url(cssBundle)}">`]),
    ...preloaded.map((path) => `<link rel="modulepreload" href="${url(path)}">`),
    `<script type="module" src="${url(script)}"></script>`,
    '<div id="app"></div>',
    "<noscript>The dashboard needs JavaScript.</noscript>",
    "",
  ].join("\n");
}
