/**
 * The program as JavaScript: shipped in the package and started by tests. Node does not strip types under node_modules,
 * and loads a few bundled files in a fraction of the time that the program's 1,100 modules and the packages' 1,000
 * modules take.
 */
import { build, type Plugin } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { bundleDashboard } from "../src/dashboard/bundle.ts";
import { buildDocs } from "../src/dashboard/docs/build/build-docs.ts";
import { bundledLicenses } from "../src/kernel/bundled-licenses.ts";
import { bundleWeb } from "../src/stream/player/bundle.ts";

/**
 * Main modules of processes and threads. Each keeps its path relative to src, because the program starts it by that
 * path.
 */
const ENTRIES = [
  "cli/main.ts",
  "mail/authenticate/body-thread.ts",
  "server/backup-process.ts",
  "test-helper/host.ts",
  "workers/bindings/d1/process-main.ts",
  "workers/bindings/d1/transfers/child.ts",
];
/**
 * Packages that are loaded from node_modules: they contain programs or data, or read their own files. The others remain
 * dependencies as well, so that `npm audit` and lists of components include them.
 */
const EXTERNAL = [
  "@cloudflare/unenv-preset",
  "@ip-location-db/*",
  "esbuild",
  "node",
  "unenv",
  "workerd",
  // Loaded by the first WebRTC connection.
  "werift",
  // Optional accelerators of pg and ws, which are not installed.
  "bufferutil",
  "pg-native",
  "utf-8-validate",
];
/** CommonJS packages call require(), which an ES module lacks. */
const DEFINE_REQUIRE =
  'import { createRequire as createBundledRequire } from "node:module"; const require = createBundledRequire(import.meta.url);';
/** Modules for workerd. The program reads each one as text. */
const INSIDE = "workers/runtime/inside";
/** Placeholder in bundled code for the URL of the output folder. */
const OUTPUT_FOLDER = "__reelpostOutputFolder";

/** Files by their path in `dist`. */
export type BuiltFiles = Map<string, Uint8Array | string>;

/**
 * Builds all files of `dist`: the program, the modules for workerd, the scripts and style sheets for browsers, and the
 * documentation.
 */
export async function buildProgram(root: string): Promise<BuiltFiles> {
  const src = join(root, "src");
  const web = join(root, "web");
  const [program, testHelper, inside, player, dashboard, docs] = await Promise.all([
    bundleProgram(src),
    bundleTestHelper(join(src, "test-helper")),
    stripInside(src),
    bundleWeb(web),
    bundleDashboard(join(web, "dashboard")),
    buildDocs(root),
  ]);
  return new Map([
    ...program,
    ...testHelper,
    ...inside,
    ...inFolder("web", player),
    ...inFolder("web/dashboard", dashboard),
    ...inFolder("web/docs", docs),
  ]);
}

const inFolder = (folder: string, files: Map<string, Buffer>) =>
  [...files].map(([name, body]) => [`${folder}/${name}`, body] as const);

/** Writes the files to `folder`. */
export async function writeBuiltFiles(built: BuiltFiles, folder: string): Promise<void> {
  for (const [path, content] of built) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

async function bundleProgram(src: string): Promise<BuiltFiles> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: src,
    entryPoints: ENTRIES.map((entry) => join(src, entry)),
    outbase: src,
    outdir: "/",
    chunkNames: "chunks/[name]-[hash]",
    write: false,
    bundle: true,
    // Lets a command load only the chunks it needs instead of the whole program.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node26",
    external: EXTERNAL,
    // The CommonJS files of jsonc-parser, in UMD format, cannot be bundled.
    mainFields: ["module", "main"],
    banner: { js: DEFINE_REQUIRE },
    metafile: true,
    keepNames: true,
    // A server keeps the text of its modules in memory. A comment that is not Latin-1 would double the size of its chunk.
    // Names and lines stay readable in stack traces.
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: "none",
    logLevel: "warning",
    plugins: [keepLocations(src)],
  });
  const files: BuiltFiles = new Map(
    outputFiles.map(({ path, text }) => {
      const up = relative(dirname(path), "/");
      const folder = `new URL(${JSON.stringify(up === "" ? "./" : `${up}/`)}, import.meta.url)`;
      return [relative("/", path), text.replaceAll(OUTPUT_FOLDER, folder)];
    }),
  );
  return files.set("licenses.txt", await bundledLicenses(Object.keys(metafile.inputs), src));
}

/** The module `reelpost/test`, for import and require(), and its types. Runs in any version of Node that runs tests. */
async function bundleTestHelper(folder: string): Promise<BuiltFiles> {
  const bundle = async (format: "esm" | "cjs") => {
    const { outputFiles } = await build({
      entryPoints: [join(folder, "client.ts")],
      write: false,
      bundle: true,
      format,
      platform: "node",
      target: "node20",
      // CommonJS has no import.meta.
      ...(format === "cjs" && {
        define: { "import.meta.url": "moduleUrl" },
        banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
      }),
      legalComments: "none",
      logLevel: "warning",
    });
    return outputFiles[0]!.text;
  };
  const types = await readFile(join(folder, "api.ts"), "utf8");
  return new Map([
    ["test-helper/client.js", await bundle("esm")],
    ["test-helper/client.cjs", await bundle("cjs")],
    ["test-helper/api.d.ts", types],
    ["test-helper/api.d.cts", types],
  ]);
}

/**
 * All modules in a bundled file share one `import.meta`. This restores each module's own location: its path relative to
 * `src`, under the output folder.
 */
function keepLocations(src: string): Plugin {
  return {
    name: "keep-locations",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const code = await readFile(path, "utf8");
        if (!code.includes("import.meta.")) return;
        requireEntries(code, dirname(relative(src, path)));
        const location = relative(src, path).replaceAll("\\", "/").replace(/\.ts$/, ".js");
        const url = (to: string) => `new URL(${JSON.stringify(to)}, ${OUTPUT_FOLDER})`;
        const pathOf = (to: string) => `process.getBuiltinModule("node:url").fileURLToPath(${url(to)})`;
        const values: Record<string, string> = {
          url: `${url(location)}.href`,
          filename: pathOf(location),
          dirname: pathOf(dirname(location)),
        };
        const contents = code.replaceAll(
          /\bimport\.meta\.(\w+)/g,
          (whole, property: string) => values[property] ?? whole,
        );
        return { contents, loader: "ts" };
      });
    },
  };
}

/**
 * A module started by `new URL("./child.js", import.meta.url)` must be an entry; otherwise it is missing from the
 * package.
 */
function requireEntries(code: string, folder: string): void {
  for (const [, name] of code.matchAll(/"\.\/([\w-]+)\.js", import\.meta\.url/g)) {
    const entry = `${folder}/${name}.ts`;
    if (!ENTRIES.includes(entry)) throw new Error(`${entry} runs on its own: add it to ENTRIES in scripts/bundle.ts`);
  }
}

async function stripInside(src: string): Promise<BuiltFiles> {
  const folder = join(src, INSIDE);
  const names = (await readdir(folder)).filter((name) => /(?<!\.d|\.test)\.ts$/.test(name));
  const { outputFiles } = await build({
    entryPoints: names.map((name) => join(folder, name)),
    outdir: "/",
    write: false,
    format: "esm",
    target: "es2024",
    logLevel: "warning",
  });
  return new Map(outputFiles.map(({ path, text }) => [`${INSIDE}${path}`, text]));
}
