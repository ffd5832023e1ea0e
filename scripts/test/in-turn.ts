import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Times } from "./order.ts";
import { PROCESS_STATE } from "./pure.ts";

/** Larger groups save little, and the last processes of a run would end later. */
const GROUP_LIMITS = { files: 16, ms: 60_000 };
/** Starting Node and loading the modules takes about a second, which matters little to a slower file. */
const FAST_MS = 10_000;
/** Assumed for a file without a recorded duration. */
const UNKNOWN_MS = 1_500;
/** In a test file: mocks that outlast one test, and measurements of the whole process. */
const OF_THE_PROCESS = [
  /(?<!\bt\.)\bmock\./,
  /\bperformance\b|memoryUsage|cpuUsage|hrtime|getActiveResources/,
  /\bgc\(/,
];

/**
 * Returns true if a test file can run after others in their process: it is fast, and neither changes nor measures
 * process-wide state. It may open sockets and databases, because it closes them when it ends.
 */
export function sharesProcess(file: string, text: string, recordedMs = 0): boolean {
  return (
    file.startsWith("src/") &&
    recordedMs < FAST_MS &&
    ![...PROCESS_STATE, ...OF_THE_PROCESS].some((use) => use.test(text))
  );
}

interface Group {
  /** Path of the program that runs the files. */
  program: string;
  files: string[];
  /** Expected duration. */
  ms: number;
}

/** Writes a program for each group of files. Files of one domain load the same modules and share a group. */
export function writeGroups(folder: string, root: string, files: readonly string[], times: Times = {}): Group[] {
  mkdirSync(folder, { recursive: true });
  const groups: Group[] = [];
  for (const [domain, its] of Map.groupBy(files.toSorted(), (file) => file.split("/")[1]!)) {
    let last: Group | undefined;
    for (const file of its) {
      const ms = times[file] ?? UNKNOWN_MS;
      if (last === undefined || last.files.length === GROUP_LIMITS.files || last.ms + ms > GROUP_LIMITS.ms)
        groups.push((last = { program: join(folder, `${domain}-${groups.length + 1}.mjs`), files: [], ms: 0 }));
      last.files.push(file);
      last.ms += ms;
    }
  }
  for (const { program, files: its } of groups) {
    const runner = pathToFileURL(join(import.meta.dirname, "run-in-turn.ts"));
    runner.search = String(new URLSearchParams({ root, files: JSON.stringify(its) }));
    writeFileSync(program, `import ${JSON.stringify(runner)};\n`);
  }
  return groups;
}
