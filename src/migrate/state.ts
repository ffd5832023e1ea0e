import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { messageOf } from "../kernel/index.ts";
import { migrateErrors } from "./errors.ts";
import type { MigrationState, MigrationEndpoint, StoredItem } from "./port.ts";

/** The file may contain upload URLs, which are credentials. */
const MODE = 0o600;
const FORMAT = 1;

interface Header {
  format: number;
  from: string;
  to: string;
}

/**
 * Opens a journal: a header and one JSON line for each change, so that a killed process loses at most its last line.
 * `dryRun`: nothing is written. Throws stateUnreadable, otherImport.
 */
export function openState(
  path: string,
  { source, target, dryRun = false }: { source: MigrationEndpoint; target: MigrationEndpoint; dryRun?: boolean },
): MigrationState {
  const header: Header = { format: FORMAT, from: nameOf(source), to: nameOf(target) };
  const items = new Map<string, StoredItem>();
  let isStarted = false;
  if (existsSync(path)) {
    readJournal(path, header, items);
    isStarted = true;
    if (!dryRun) compact();
  }

  function compact(): void {
    const lines = [header, ...[...items].map(([key, item]) => [key, item])].map((line) => JSON.stringify(line));
    writeFileSync(`${path}.new`, `${lines.join("\n")}\n`, { mode: MODE });
    renameSync(`${path}.new`, path);
  }

  return {
    path,
    get: (key) => items.get(key),
    idOf: (key) => items.get(key)?.id,
    put(changes) {
      for (const [key, item] of changes) items.set(key, item);
      if (dryRun || changes.length === 0) return;
      const lines = changes.map((change) => `${JSON.stringify(change)}\n`).join("");
      appendFileSync(path, isStarted ? lines : `${JSON.stringify(header)}\n${lines}`, { mode: MODE });
      isStarted = true;
    },
  };
}

const nameOf = ({ api, account }: MigrationEndpoint) => `${api.url} account ${account}`;

function readJournal(path: string, header: Header, items: Map<string, StoredItem>): void {
  let lines: string[];
  try {
    lines = readFileSync(path, "utf8").split("\n");
  } catch (cause) {
    throw migrateErrors.stateUnreadable({ path, reason: messageOf(cause) }, { cause });
  }
  // A killed process may have written only a part of the last line.
  const complete = lines.slice(0, -1);
  try {
    const found = JSON.parse(complete[0] ?? "{}") as Partial<Header>;
    if (found.format !== FORMAT) throw new Error(`its first line is not a header of format ${FORMAT}`);
    if (found.from !== header.from || found.to !== header.to)
      throw migrateErrors.otherImport({
        path,
        found: `${found.from} to ${found.to}`,
        wanted: `${header.from} to ${header.to}`,
      });
    for (const line of complete.slice(1)) {
      const [key, item] = JSON.parse(line) as [string, StoredItem];
      items.set(key, item);
    }
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === "UserError") throw thrown;
    throw migrateErrors.stateUnreadable({ path, reason: messageOf(thrown) }, { cause: thrown });
  }
}
