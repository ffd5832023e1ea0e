import { build } from "esbuild";
import { basename, join } from "node:path";
import { bundledLicenses } from "../../kernel/bundled-licenses.ts";
import { tokensPlugin } from "../../kernel/design/index.ts";

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
    plugins: [tokensPlugin],
    legalComments: "none",
    banner: { js: "/* Parts of others: licenses.txt in the folder embed/ of this server. */" },
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map(outputFiles.map((file) => [basename(file.path), Buffer.from(file.contents)]));
  return files.set("licenses.txt", Buffer.from(await bundledLicenses(Object.keys(metafile.inputs), folder)));
}
