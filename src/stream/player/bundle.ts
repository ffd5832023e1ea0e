import { build } from "esbuild";
import { readFile, readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

/** Files that browsers load, by name, with their entry points in the sources. */
const ENTRIES = {
  player: "player/main.ts",
  page: "player/player.css",
  "sdk.latest": "embed/sdk.ts",
  local: "embed/local.ts",
  upload: "upload/main.ts",
  "upload-page": "upload/upload.css",
};

/**
 * Bundles `web/`: one file per entry, for browsers of the last four years, and the licences of the bundled packages.
 */
export async function bundleWeb(folder: string): Promise<Map<string, Buffer>> {
  const { outputFiles, metafile } = await build({
    entryPoints: Object.entries(ENTRIES).map(([builtFiles, file]) => ({ out: builtFiles, in: join(folder, file) })),
    outdir: "/",
    write: false,
    bundle: true,
    minify: true,
    metafile: true,
    format: "iife",
    target: ["es2021", "safari15"],
    absWorkingDir: folder,
    legalComments: "none",
    banner: { js: "/* Parts of others: licenses.txt in the folder embed/ of this server. */" },
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map(outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]));
  return files.set("licenses.txt", Buffer.from(await licencesOf(Object.keys(metafile.inputs), folder)));
}

/** The packages' own licence texts, each under its name and version. */
async function licencesOf(inputs: string[], folder: string): Promise<string> {
  const packages = new Set(inputs.flatMap((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []));
  const texts = await Promise.all(
    [...packages].sort().map(async (path) => {
      const packagePath = resolve(folder, path);
      const { name, version, license } = JSON.parse(
        await readFile(join(packagePath, "package.json"), "utf8"),
      ) as Record<string, string>;
      const file = (await readdir(packagePath)).find((one) => /^licen[cs]e/i.test(one));
      return `${name} ${version} (${license})\n\n${file === undefined ? "" : await readFile(join(packagePath, file), "utf8")}`;
    }),
  );
  return texts.join(`\n\n${"-".repeat(80)}\n\n`);
}
