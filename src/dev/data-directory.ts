import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Number of earlier runs whose `.eml` files are retained. */
const MAX_KEPT_RUNS = 50;

/** Creates the data directory, with owner-only permissions, and excludes it from the project's git repository. */
export function prepareDataDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, ".gitignore"), "*\n");
}

/**
 * Opens the folder for the mail of one run, named after its start time (epoch milliseconds). Creates `parent` and
 * deletes the folders of the oldest runs.
 */
export function openRunFolder(parent: string, startedAt: number): string {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const runs = readdirSync(parent).sort();
  for (const run of runs.slice(0, Math.max(0, runs.length - MAX_KEPT_RUNS)))
    rmSync(join(parent, run), { recursive: true, force: true });
  return join(parent, new Date(startedAt).toISOString().replaceAll(":", "-"));
}
