import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Which files were run on which database. */
interface SeedRecord {
  has(database: string, digest: string): boolean;
  /** Returns when the record is on disk. */
  add(database: string, digest: string): void;
}

/** Older entries are dropped. */
const MAX_ENTRIES = 1000;

/** The record is a file in the data directory: deleting the directory deletes the databases and the record. */
export function openSeedRecord(directory: string): SeedRecord {
  const file = join(directory, "seeds.json");
  let entries = read(file);
  const entryOf = (database: string, digest: string) => `${digest} ${database}`;
  return {
    has: (database, digest) => entries.includes(entryOf(database, digest)),
    add(database, digest) {
      const entry = entryOf(database, digest);
      entries = [...entries.filter((each) => each !== entry), entry].slice(-MAX_ENTRIES);
      write(file, JSON.stringify(entries));
    },
  };
}

function read(file: string): string[] {
  try {
    const parsed = JSON.parse(readFileSync(file, "utf8")) as unknown;
    return Array.isArray(parsed) ? parsed.filter((entry) => typeof entry === "string").slice(-MAX_ENTRIES) : [];
  } catch {
    // Absent or damaged: the files are run again.
    return [];
  }
}

function write(file: string, text: string): void {
  const fd = openSync(`${file}.new`, "w", 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.new`, file);
}
