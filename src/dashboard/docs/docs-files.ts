import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/**
 * The output of `npm run build`, included in the published package; in a checkout the pages are rendered on first use.
 */
const BUILT_FOLDER = join(import.meta.dirname, "../../web/docs");
const ROOT = join(import.meta.dirname, "../../..");

/** Resolves with the files of the documentation by name, see `buildDocs`. */
export async function loadDocs(): Promise<Map<string, Buffer>> {
  if (!existsSync(join(BUILT_FOLDER, "index.html"))) {
    const { buildDocs } = await import("./build/build-docs.ts");
    return buildDocs(ROOT);
  }
  const entries = await readdir(BUILT_FOLDER, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      paths.map(async (path) => [relative(BUILT_FOLDER, path).replaceAll("\\", "/"), await readFile(path)] as const),
    ),
  );
}
