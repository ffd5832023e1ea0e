import type { Loader } from "esbuild";
import type { WorkerScript } from "../../scripts/script.ts";
import type { Project } from "../project.ts";

/** JSX in plain .js files is common in the ecosystem. */
export const LOADERS: Record<string, Loader> = { ".js": "jsx", ".mjs": "jsx", ".cjs": "jsx" };
export const TARGET = "es2024";

interface DetectedFormat {
  format: WorkerScript["format"];
  /** Names exported by the entry; undefined if it cannot be parsed. */
  exports: string[] | undefined;
}

/**
 * A worker is an ES module if its entry has a default export, otherwise a service worker that calls addEventListener().
 * An unparsable file counts as a module: the following build reports the error.
 */
export async function detectFormat({ main, root, build: { tsconfig } }: Project): Promise<DetectedFormat> {
  try {
    const { build } = await import("esbuild");
    const { metafile } = await build({
      entryPoints: [main],
      absWorkingDir: root,
      outdir: root,
      bundle: false,
      write: false,
      metafile: true,
      format: "esm",
      target: TARGET,
      loader: LOADERS,
      logLevel: "silent",
      ...(tsconfig !== undefined && { tsconfig }),
    });
    const exports = Object.values(metafile.outputs).flatMap((output) => output.exports);
    return { format: exports.includes("default") ? "modules" : "service-worker", exports };
  } catch {
    return { format: "modules", exports: undefined };
  }
}
