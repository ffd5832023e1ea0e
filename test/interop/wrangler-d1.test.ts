import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    const { results } = await env.DB.prepare("SELECT name FROM films WHERE id >= ?1 ORDER BY id").bind(2).all();
    return Response.json(results);
  },
};
`;

interface Executed {
  success: boolean;
  results: Record<string, unknown>[];
}

describe("wrangler d1", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let id: string;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "worker.js": WORKER });
  });
  after(scope.close);

  const d1 = (...args: string[]) => wrangler.run(["d1", ...args]);
  const execute = async (sql: string) =>
    JSON.parse((await d1("execute", "library", "--remote", "--json", "--command", sql)).stdout) as Executed[];
  /** Queries through the API, where another command would add no coverage. */
  const query = async (sql: string) =>
    (
      await platform.ask<Executed[]>(`/accounts/${platform.account}/d1/database/${id}/query`, {
        method: "POST",
        body: JSON.stringify({ sql }),
      })
    )[0]!.results;
  const refused = async (args: string[]) => {
    const { code, text } = await wrangler.attempt(["d1", ...args]);
    assert.notEqual(code, 0, text);
    return text;
  };

  it("create, list and info show the database, and duplicate names are rejected", async () => {
    const { text } = await d1("create", "library");
    id = /"database_id": "([0-9a-f-]{36})"/.exec(text)![1]!;
    const list = JSON.parse((await d1("list", "--json")).stdout) as { uuid: string; name: string; version: string }[];
    assert.deepEqual(
      list.map(({ uuid, name, version }) => ({ uuid, name, version })),
      [{ uuid: id, name: "library", version: "production" }],
    );
    const info = JSON.parse((await d1("info", "library", "--json")).stdout) as {
      uuid: string;
      num_tables: number;
      rows_written_24h: number;
    };
    assert.deepEqual([info.uuid, info.num_tables], [id, 0]);
    assert.match(await refused(["create", "library"]), /already exists/);
    await wrangler.write(
      "wrangler.jsonc",
      JSON.stringify({
        name: "reader",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        d1_databases: [{ binding: "DB", database_name: "library", database_id: id }],
      }),
    );
  });

  it("migrations create, list and apply run each migration once and in order", async () => {
    await d1("migrations", "create", "library", "films");
    await wrangler.write(
      "migrations/0001_films.sql",
      "CREATE TABLE films (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n-- a semicolon; in a comment\nINSERT INTO films (name) VALUES ('M; or: a city');\n",
    );
    await wrangler.write("migrations/0002_years.sql", "ALTER TABLE films ADD COLUMN year INTEGER;\n");
    assert.match((await d1("migrations", "list", "library", "--remote")).text, /0001_films\.sql[^]*0002_years\.sql/);
    assert.match(
      (await d1("migrations", "apply", "library", "--remote")).text,
      /0001_films\.sql\s*│ ✅[^]*0002_years\.sql\s*│ ✅/,
    );
    assert.match((await d1("migrations", "list", "library", "--remote")).text, /No migrations to apply/);
    assert.deepEqual(await query("SELECT name FROM d1_migrations ORDER BY id"), [
      { name: "0001_films.sql" },
      { name: "0002_years.sql" },
    ]);
    assert.deepEqual(await query("SELECT * FROM films"), [{ id: 1, name: "M; or: a city", year: null }]);
  });

  it("a failed migration leaves no changes", async () => {
    await wrangler.write(
      "migrations/0003_bad.sql",
      "CREATE TABLE half (id INTEGER);\nINSERT INTO nowhere VALUES (1);\n",
    );
    assert.match(await refused(["migrations", "apply", "library", "--remote"]), /no such table: nowhere/);
    assert.deepEqual(await query("SELECT name FROM sqlite_master WHERE name = 'half'"), []);
    assert.equal((await query("SELECT name FROM d1_migrations")).length, 2);
  });

  it("execute --command runs several statements and shows rows", async () => {
    const [, selected] = await execute(
      "INSERT INTO films (name, year) VALUES ('Nosferatu', 1922), ('Metropolis', 1927); SELECT name, year FROM films WHERE year > 1922",
    );
    assert.deepEqual([selected!.success, selected!.results], [true, [{ name: "Metropolis", year: 1927 }]]);
    assert.match(
      (await d1("execute", "DB", "--remote", "--command", "SELECT name FROM films WHERE id = 2")).text,
      /Nosferatu/,
    );
    assert.match(
      await refused(["execute", "library", "--remote", "--command", "SELEC 1"]),
      /near "SELEC": syntax error[^]*\[code: 7500\]/,
    );
  });

  it("execute --file runs a large file as a single operation, and a failing file changes nothing", async () => {
    const rows = Array.from(
      { length: 5_000 },
      (_, index) =>
        `INSERT INTO films (name, year) VALUES ('film ${index} ${"é".repeat(50)}', ${1900 + (index % 100)});`,
    );
    await wrangler.write("many.sql", rows.join("\n"));
    assert.match(
      (await d1("execute", "library", "--remote", "--file", "many.sql", "-y")).text,
      /Executed 5000 queries[^]*5000 rows written/,
    );
    assert.deepEqual(await query("SELECT count(*) AS films FROM films"), [{ films: 5_003 }]);
    await wrangler.write("bad.sql", "INSERT INTO films (name) VALUES ('never');\nINSERT INTO nowhere VALUES (1);\n");
    assert.match(
      await refused(["execute", "library", "--remote", "--file", "bad.sql", "-y"]),
      /no such table: nowhere/,
    );
    assert.deepEqual(await query("SELECT count(*) AS films FROM films"), [{ films: 5_003 }]);
  });

  it("a worker reads the database", async () => {
    await wrangler.run(["deploy"]);
    const names = JSON.parse((await platform.visit("reader")).text) as { name: string }[];
    assert.deepEqual([names.length, names[0]], [5_002, { name: "Nosferatu" }]);
  });

  it("export returns SQL that recreates the same database", async () => {
    await d1("export", "library", "--remote", "--output", "out.sql", "-y");
    const copy = new DatabaseSync(":memory:");
    copy.exec(await readFile(join(wrangler.folder, "out.sql"), "utf8"));
    assert.equal(copy.prepare("SELECT count(*) AS films FROM films").get()!["films"], 5_003);
    assert.deepEqual(
      { ...copy.prepare("SELECT * FROM films WHERE id = 1").get() },
      { id: 1, name: "M; or: a city", year: null },
    );
    copy.close();
    await d1("export", "library", "--remote", "--output", "schema.sql", "--no-data", "--table", "films", "-y");
    assert.match(
      await readFile(join(wrangler.folder, "schema.sql"), "utf8"),
      /^(?![^]*INSERT INTO)[^]*CREATE TABLE films/,
    );
  });

  it("time-travel offers only a bookmark of the current state", async () => {
    assert.match((await d1("time-travel", "info", "library")).text, /current bookmark is '[0-9a-f-]{40,}'/);
  });

  it("delete removes the database, which is then not found", async () => {
    assert.match((await d1("delete", "library", "-y")).text, /Deleted 'library' successfully/);
    assert.deepEqual(await platform.ask(`/accounts/${platform.account}/d1/database`), []);
    assert.match(
      await refused(["execute", id, "--remote", "--command", "SELECT 1"]),
      /Couldn't find a D1 DB|\[code: 7404\]/,
    );
    assert.equal((await platform.visit("reader")).status, 500);
  });
});
