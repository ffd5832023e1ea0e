import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { type Binding } from "../../workers/index.ts";
import { createD1Databases } from "../../workers/bindings/d1/index.ts";
import type { DevEvent } from "../events.ts";
import { parseSeed, runSeeds } from "./seeds.ts";

const d1 = (name: string, id: string): Binding => ({ type: "d1", name, id });

async function setUp(t: TestContext, bindings: Binding[] = [d1("DB", "letters")]) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-seeds-"));
  const databases = createD1Databases({ directory: join(folder, "d1") });
  t.after(async () => {
    await databases.close();
    await rm(folder, { recursive: true });
  });
  const seed = async (...seedTexts: string[]) => {
    const events: DevEvent[] = [];
    await runSeeds(seedTexts, {
      databases,
      workers: [{ bindings }],
      cwd: folder,
      dataDir: folder,
      report: (event) => void events.push(event),
    });
    return events.map((event) => ("text" in event ? event.text : ""));
  };
  const write = (name: string, sql: string) => writeFile(join(folder, name), sql);
  const rows = async (id = "letters") =>
    (await databases.query(id, [{ sql: "SELECT a FROM t" }]))[0]!.results.rows.flat();
  return { folder, databases, seed, write, rows };
}

test("runs a file once per version of its content, and again after its database is deleted", async (t) => {
  const { databases, seed, write, rows } = await setUp(t);
  await write("seed.sql", "CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES (1);");
  assert.deepEqual(await seed("seed.sql"), ["Ran seed.sql on DB: 2 statements"]);
  assert.deepEqual(await seed("seed.sql"), ["seed.sql was already run on DB"]);
  assert.deepEqual(await rows(), [1]);
  await write("seed.sql", "INSERT INTO t VALUES (2);");
  assert.deepEqual(await seed("seed.sql"), ["Ran seed.sql on DB: 1 statement"]);
  assert.deepEqual(await rows(), [1, 2]);
  await write("seed.sql", "CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES (1);");
  assert.deepEqual(await seed("seed.sql"), ["seed.sql was already run on DB"]);
  await databases.delete("letters");
  await seed("seed.sql");
  assert.deepEqual(await rows(), [1]);
});

test("does not run a file again if only its record is lost", async (t) => {
  const { folder, seed, write, rows } = await setUp(t);
  await write("seed.sql", "CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES (1);");
  await seed("seed.sql");
  await rm(join(folder, "seeds.json"));
  await seed("seed.sql");
  assert.deepEqual(await rows(), [1]);
});

test("selects one of several databases by binding", async (t) => {
  const { seed, write, rows } = await setUp(t, [d1("DB", "letters"), d1("OTHER", "other"), d1("SAME", "letters")]);
  await write("a.sql", "CREATE TABLE t (a); INSERT INTO t VALUES ('a')");
  await write("b.sql", "CREATE TABLE t (a); INSERT INTO t VALUES ('b')");
  await seed("DB=a.sql", "OTHER=b.sql");
  assert.deepEqual([await rows("letters"), await rows("other")], [["a"], ["b"]]);
  await assert.rejects(seed("a.sql"), { kind: "seedAmbiguous", fix: /DB, OTHER, SAME: --seed BINDING=a\.sql/ });
  await assert.rejects(seed("NOPE=a.sql"), /NOPE/);
});

test("a failed file leaves the database unchanged, and the error contains the file, the binding and the statement", async (t) => {
  const { seed, write, databases } = await setUp(t);
  await write("seed.sql", "CREATE TABLE t (a); INSERT INTO missing VALUES (1);");
  await assert.rejects(seed("seed.sql"), /seed\.sql on DB: no such table: missing.*statement 2, line 1/);
  const [tables] = await databases.query("letters", [{ sql: "SELECT count(*) FROM sqlite_master WHERE name = 't'" }]);
  assert.deepEqual(tables!.results.rows, [[0]]);
  await assert.rejects(seed("none.sql"), /none\.sql: the file does not exist/);
});

test("a seed is rejected if no worker has a database", async (t) => {
  const { seed, write } = await setUp(t, []);
  await write("seed.sql", "SELECT 1");
  await assert.rejects(seed("seed.sql"), { kind: "seedWithoutDatabase" });
});

test("reads a file whose name contains = if it is given as a path", () => {
  assert.deepEqual(parseSeed("./a=b.sql"), { binding: undefined, file: "./a=b.sql" });
  assert.deepEqual(parseSeed("DB=./a=b.sql"), { binding: "DB", file: "./a=b.sql" });
});
