import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { systemClock } from "../kernel/index.ts";
import {
  createSecrets,
  migrate,
  openFsObjects,
  openSqlite,
  parseKeys,
  type Db,
  type Migration,
} from "../store/index.ts";

interface Tables {
  server_marks: { name: string; value: string };
  notes: { id: number; object_key: string };
}

export const migrations: Migration[] = [
  {
    name: "test-001",
    async up(db) {
      await db.schema
        .createTable("server_marks")
        .addColumn("name", "text", (column) => column.primaryKey())
        .addColumn("value", "text", (column) => column.notNull())
        .execute();
      await db.schema
        .createTable("notes")
        .addColumn("id", "integer", (column) => column.primaryKey())
        .addColumn("object_key", "text", (column) => column.notNull())
        .execute();
    },
  },
];

export const keyMark = { table: "server_marks", name: "secrets-key" };

export const newKey = (): string => `${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}\n`;

export function createTestFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-backup-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface TestData {
  dataDirectory: string;
  objects: string;
  key: string;
  db: Db;
  /** Stores an object, then its row. */
  addNote(id: number, content: string): Promise<void>;
  sqliteFile(path: string, rows: number): void;
}

/** Creates a data directory with rows, objects, a D1 database and a Durable Object. Databases stay open. */
export async function createData(t: TestContext): Promise<TestData> {
  const dataDirectory = join(createTestFolder(t), "data");
  const objects = join(dataDirectory, "objects");
  mkdirSync(dataDirectory);
  const key = newKey();
  const db = openSqlite({ path: join(dataDirectory, "reelpost.sqlite") });
  t.after(() => db.close());
  await migrate(db, migrations);
  const value = createSecrets({ keys: parseKeys(key, "test") }).seal("", "secrets-key");
  const tables = db.tables<Tables>();
  await tables.insertInto("server_marks").values({ name: "secrets-key", value }).execute();
  const store = await openFsObjects({ folder: objects });

  async function addNote(id: number, content: string) {
    const objectKey = `notes/${id}`;
    await store.put(objectKey, Buffer.from(content));
    await tables.insertInto("notes").values({ id, object_key: objectKey }).execute();
  }
  function sqliteFile(path: string, rows: number) {
    mkdirSync(join(dataDirectory, path, ".."), { recursive: true });
    const file = new DatabaseSync(join(dataDirectory, path));
    t.after(() => file.isOpen && file.close());
    file.exec("pragma journal_mode = wal; create table if not exists t (n integer)");
    for (let n = 0; n < rows; n++) file.exec(`insert into t values (${n})`);
  }
  for (let id = 0; id < 20; id++) await addNote(id, `note ${id}\n`.repeat(100));
  sqliteFile("d1/one.sqlite", 5);
  sqliteFile(`durable-objects/${"a".repeat(32)}/${"b".repeat(32)}/${"c".repeat(64)}.sqlite`, 7);
  writeFileSync(join(dataDirectory, "d1/.home"), "home\n");
  writeFileSync(join(dataDirectory, "secrets.key"), key, { mode: 0o600 });
  return { dataDirectory, objects, key, db, addNote, sqliteFile };
}

export const createOptions = ({ dataDirectory, objects }: TestData, folder: string) => ({
  dataDirectory,
  objects,
  folder,
  recipients: [] as string[],
  secrets: { key: "", key_file: "" },
  version: "0.0.0",
  clock: systemClock,
});

/** Returns all files below a folder with their sizes. */
export function filesOf(folder: string): Record<string, number> {
  const files: Record<string, number> = {};
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      files[path.slice(folder.length + 1)] = statSync(path).size;
    }
  return files;
}

export const countRows = (path: string, table = "t"): number => {
  const db = new DatabaseSync(path);
  try {
    return Number(db.prepare(`select count(*) as n from ${table}`).get()!["n"]);
  } finally {
    db.close();
  }
};
