import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, UserError } from "../../kernel/index.ts";
import type { Binding, D1Databases } from "../../workers/index.ts";
import { devErrors } from "../errors.ts";
import type { EventReporter } from "../events.ts";
import { openSeedRecord } from "./seed-record.ts";

/** A SQL file to run on a database. */
interface Seed {
  /** Undefined selects the only database. */
  binding: string | undefined;
  /** Path as specified on the command line, relative to the working directory. */
  file: string;
}

/** Parses `FILE` or `BINDING=FILE`. A file whose name contains `=` is specified as `./NAME=FILE`. */
export function parseSeed(text: string): Seed {
  const [, binding, file] = /^([A-Za-z_$][\w$]*)=(.+)$/s.exec(text) ?? [];
  return binding === undefined ? { binding, file: text } : { binding, file: file! };
}

interface SeedDeps {
  databases: Pick<D1Databases, "import" | "size" | "limits">;
  /** The bindings of each worker, the default one first. */
  workers: readonly { bindings: readonly Binding[] }[];
  cwd: string;
  dataDir: string;
  report: EventReporter;
}

/**
 * Runs each file on its database, completely or not at all, unless the same content was already run on it. A database
 * that was deleted in the meantime is filled again. `parseSeed` parses each of the texts. Throws UserErrors of
 * `devErrors`.
 */
export async function runSeeds(
  seedTexts: readonly string[],
  { databases, workers, cwd, dataDir, report }: SeedDeps,
): Promise<void> {
  if (seedTexts.length === 0) return;
  const seeds = seedTexts.map(parseSeed);
  const record = openSeedRecord(dataDir);
  const selectedSeeds = seeds.map((seed) => ({ ...seed, database: databaseOf(seed, workers) }));
  for (const { file, database } of selectedSeeds) {
    const path = resolve(cwd, file);
    const { size, digest } = await readSeedFile(path, file, databases.limits.importBytes);
    if ((await databases.size(database.id)) > 0 && record.has(database.id, digest)) {
      report({ event: "notice", text: `${file} was already run on ${database.name}` });
      continue;
    }
    const { statements } = await databases
      .import(database.id, { open: () => createReadStream(path), size, mark: markOf(digest) })
      .catch((cause: unknown) => {
        throw devErrors.seedFailed({ file, binding: database.name, reason: messageOf(cause) }, { cause });
      });
    record.add(database.id, digest);
    const statementCount = `${statements} statement${statements === 1 ? "" : "s"}`;
    report({ event: "notice", text: `Ran ${file} on ${database.name}: ${statementCount}` });
  }
}

type DatabaseBinding = Extract<Binding, { type: "d1" }>;

function databaseOf({ binding, file }: Seed, workers: SeedDeps["workers"]): DatabaseBinding {
  const databaseBindings = workers.flatMap(({ bindings }) => bindings.filter((candidate) => candidate.type === "d1"));
  const names = [...new Set(databaseBindings.map(({ name }) => name))].join(", ") || "none";
  if (binding !== undefined) {
    const selectedBinding = databaseBindings.find(({ name }) => name === binding);
    if (selectedBinding === undefined) throw devErrors.seedBindingUnknown({ binding, file, names });
    return selectedBinding;
  }
  const [onlyDatabase] = databaseBindings;
  if (onlyDatabase === undefined) throw devErrors.seedWithoutDatabase({ file });
  if (databaseBindings.some(({ id }) => id !== onlyDatabase.id)) throw devErrors.seedAmbiguous({ file, names });
  return onlyDatabase;
}

async function readSeedFile(path: string, file: string, maxBytes: number): Promise<{ size: number; digest: string }> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes)
      throw devErrors.seedUnreadable({ file, reason: `it has ${size} bytes, more than ${maxBytes}` });
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return { size, digest: hash.digest("hex") };
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw devErrors.seedUnreadable(
      { file, reason: isMissing ? "the file does not exist" : messageOf(cause) },
      { cause },
    );
  }
}

/**
 * Returns a mark stored in the database with the rows: even if a crash loses the record, the file does not run again.
 */
const markOf = (digest: string) => Number.parseInt(digest.slice(0, 8), 16) & 0x7fff_ffff || 1;
