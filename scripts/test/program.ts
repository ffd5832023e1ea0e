import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type BuiltFiles, buildProgram, writeBuiltFiles } from "../bundle.ts";

/** Number of versions kept, since another run may be using them. */
const KEPT = 4;

/**
 * Bundles the program as the package ships it, into a folder named after its content: runs of the same sources share
 * it, and so do the entries of Node's compile cache. Returns the path of its main module.
 */
export async function programForTests(root: string, cache: string): Promise<string> {
  const built = await buildProgram(root);
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const folder = join(cache, hashOf(new Map([...built, ["package.json", manifest]])));
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    const draft = mkdtempSync(join(cache, "draft-"));
    await writeBuiltFiles(built, join(draft, "dist"));
    // Placed alongside dist, as in the package.
    writeFileSync(join(draft, "package.json"), manifest);
    symlinkSync(join(root, "templates"), join(draft, "templates"));
    publish(draft, folder);
  }
  removeOld(cache, folder);
  return join(folder, "dist", "cli", "main.js");
}

function hashOf(built: BuiltFiles): string {
  const hash = createHash("sha256");
  for (const [path, content] of [...built].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${path}\0${content.length}\0`).update(content);
  return hash.digest("hex").slice(0, 16);
}

function publish(draft: string, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch (err) {
    rmSync(draft, { recursive: true, force: true });
    // Another run has already completed the same version.
    if (!existsSync(folder)) throw err;
  }
}

/** Keeps the versions that were used last: `used` now. */
export function removeOld(cache: string, used: string): void {
  const now = new Date();
  utimesSync(used, now, now);
  const folders = readdirSync(cache)
    // Another run may remove a folder, or rename its draft, at the same time.
    .map((name) => ({
      path: join(cache, name),
      changed: statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.changed - a.changed);
  for (const { path } of folders.slice(KEPT)) rmSync(path, { recursive: true, force: true });
}
