import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Records which files were run on which database. */
interface SeedRecord {
  has(database: string, digest: string): boolean;
  /** Returns once the record is on disk. */
  add(database: string, digest: string): void;
}

/** Maximum number of entries; the oldest ones are dropped. */
const MAX_ENTRIES = 1000;

/** Opens the record, a file in the data directory: deleting the directory deletes both the databases and the record. */
export function openSeedRecord(directory: string): SeedRecord {
  const file = join(directory, "seeds.json");
  let entries = readEntries(file);
  const entryOf = (database: string, digest: string) => `${digest} ${database}`;
  return {
    has: (database, digest) => entries.includes(entryOf(database, digest)),
    add(database, digest) {
      const entry = entryOf(database, digest);
      entries = [...entries.filter((candidate) => candidate !== entry), entry].slice(-MAX_ENTRIES);
      writeDurably(file, JSON.stringify(entries));
    },
  };
}

function readEntries(file: string): string[] {
  try {
    const parsedEntries = JSON.parse(readFileSync(file, "utf8")) as unknown;
    return Array.isArray(parsedEntries)
      ? parsedEntries.filter((entry) => typeof entry === "string").slice(-MAX_ENTRIES)
      : [];
  } catch {
    // The record is missing or damaged: the files run again.
    return [];
  }
}

function writeDurably(file: string, text: string): void {
  const fd = openSync(`${file}.new`, "w", 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.new`, file);
}
