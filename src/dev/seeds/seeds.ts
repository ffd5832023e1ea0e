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
  /** Undefined: the only database. */
  binding: string | undefined;
  /** As given, relative to the working directory. */
  file: string;
}

/** `FILE`, or `BINDING=FILE`. A file with such a name is written as `./NAME=FILE`. */
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
 * Runs each file, given as for `parseSeed`, on its database, completely or not at all, unless the same content was run on it before. A database
 * that was deleted meanwhile is filled again. Throws UserErrors of `devErrors`.
 */
export async function runSeeds(
  given: readonly string[],
  { databases, workers, cwd, dataDir, report }: SeedDeps,
): Promise<void> {
  if (given.length === 0) return;
  const seeds = given.map(parseSeed);
  const record = openSeedRecord(dataDir);
  const chosen = seeds.map((seed) => ({ ...seed, database: databaseOf(seed, workers) }));
  for (const { file, database } of chosen) {
    const path = resolve(cwd, file);
    const { size, digest } = await describe(path, file, databases.limits.importBytes);
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
    const count = `${statements} statement${statements === 1 ? "" : "s"}`;
    report({ event: "notice", text: `Ran ${file} on ${database.name}: ${count}` });
  }
}

type DatabaseBinding = Extract<Binding, { type: "d1" }>;

function databaseOf({ binding, file }: Seed, workers: SeedDeps["workers"]): DatabaseBinding {
  const all = workers.flatMap(({ bindings }) => bindings.filter((each) => each.type === "d1"));
  const names = [...new Set(all.map(({ name }) => name))].join(", ") || "none";
  if (binding !== undefined) {
    const found = all.find(({ name }) => name === binding);
    if (found === undefined) throw devErrors.seedBindingUnknown({ binding, file, names });
    return found;
  }
  const [only] = all;
  if (only === undefined) throw devErrors.seedWithoutDatabase({ file });
  if (all.some(({ id }) => id !== only.id)) throw devErrors.seedAmbiguous({ file, names });
  return only;
}

async function describe(path: string, file: string, maxBytes: number): Promise<{ size: number; digest: string }> {
  try {
    const { size } = await stat(path);
    if (size > maxBytes)
      throw devErrors.seedUnreadable({ file, reason: `it has ${size} bytes, more than ${maxBytes}` });
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return { size, digest: hash.digest("hex") };
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const absent = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw devErrors.seedUnreadable({ file, reason: absent ? "there is no such file" : messageOf(cause) }, { cause });
  }
}

/** Written into the database with the rows: a run whose record was lost in a crash is not repeated. */
const markOf = (digest: string) => Number.parseInt(digest.slice(0, 8), 16) & 0x7fff_ffff || 1;
