/** Writes one item of each durable kind and prints acknowledgements to stdout. Runs under strace. */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { sql } from "kysely";
import { openFsObjects, openSqlite } from "../../../src/store/index.ts";
import { loadKeyFile } from "../../../src/store/secrets/keys.ts";
import { createD1Databases } from "../../../src/workers/bindings/d1/index.ts";
import { D1_ID, OBJECTS, PARTIAL } from "./promised.ts";

const root = process.argv[2]!;
const acknowledge = (what: string) => void writeSync(1, `ack ${what}\n`);

const [key] = loadKeyFile(join(root, "secrets.key"));
acknowledge(`key ${Buffer.from(key!).toString("base64url")}`);

const objects = await openFsObjects({ folder: join(root, "objects") });
await objects.put("a/b/whole", OBJECTS["a/b/whole"]);
acknowledge("object a/b/whole");
await objects.put(
  "a/b/streamed",
  Readable.from([OBJECTS["a/b/streamed"].subarray(0, 100_000), OBJECTS["a/b/streamed"].subarray(100_000)]),
);
acknowledge("object a/b/streamed");
await objects.put("a/b/whole", OBJECTS["a/b/replaced"]);
acknowledge("object a/b/replaced");
await objects.copy("a/b/streamed", "c/copied");
acknowledge("object c/copied");

const partial = objects.partial("u/p/load");
await partial.append(0, Readable.from([PARTIAL.subarray(0, 70_000)]));
acknowledge("partial 70000");
await partial.append(70_000, Readable.from([PARTIAL.subarray(70_000)]));
acknowledge(`partial ${PARTIAL.length}`);
await partial.complete(PARTIAL.length);
acknowledge("upload u/p/load");

const db = openSqlite({ path: join(root, "rows.sqlite") });
await sql`create table promises (n integer primary key)`.execute(db.tables());
acknowledge("rows 0");
for (let n = 1; n <= 3; n++) {
  await db.write({ compile: () => sql`insert into promises values (${n})`.compile(db.tables()) } as never);
  acknowledge(`rows ${n}`);
}
await db.close();

const databases = createD1Databases({ directory: join(root, "d1"), processes: 1 });
await databases.query(D1_ID, [{ sql: "create table t(a)" }, { sql: "insert into t values (1)" }]);
acknowledge("d1 1");
await databases.query(D1_ID, [{ sql: "insert into t values (2)" }]);
acknowledge("d1 2");
await databases.close();
