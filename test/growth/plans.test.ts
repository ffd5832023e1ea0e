import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { migrations } from "../../src/server/index.ts";
import { onEveryDatabase, type TestDatabase } from "../support/databases.ts";
import { withClient } from "../support/postgres.ts";
import { UNINDEXED } from "./growing.ts";
import { openComponents } from "./subject.ts";
import { subjects } from "./subjects.ts";

interface Query {
  sql: string;
  values: unknown[];
}

const ROWS = 1000;

onEveryDatabase((engine) => {
  for (const subject of subjects)
    test(`${subject.name}: no query of an operation reads a whole table or sorts it`, async (t) => {
      const { db, where } = await engine.open(t, migrations);
      const operations = await subject.open(await openComponents(db, t), ROWS);
      const found: string[] = [];
      for (const { name, prepare, run } of operations) {
        if (`${subject.name}: ${name}` in UNINDEXED) continue;
        await prepare?.();
        for (const { sql, problems } of await explained(where, await recorded(run)))
          found.push(...problems.map((problem) => `${name}: ${problem}\n${sql}`));
      }
      assert.deepEqual(found, []);
    });
});

/** Resolves with the queries that this process runs during `work`, on either engine. */
async function recorded(work: () => Promise<unknown>): Promise<Query[]> {
  const queries = new Map<string, Query>();
  const note = (sql: string, values: unknown[] = []) => {
    if (/^\s*(select|insert|update|delete|with)\b/i.test(sql)) queries.set(sql, { sql, values });
  };
  // The connections cache prepared statements, and use each of them through these methods.
  const { run, all, get } = statementMethods;
  const query = Client.prototype.query as (...args: unknown[]) => unknown;
  for (const [name, method] of Object.entries({ run, all, get }))
    Object.assign(statements, {
      [name](this: { sourceSQL: string }, ...values: unknown[]) {
        note(this.sourceSQL);
        return (method as (...values: unknown[]) => unknown).apply(this, values);
      },
    });
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const [config, values] = args as [string | { text: string; values?: unknown[] }, unknown[] | undefined];
    if (typeof config === "string") note(config, Array.isArray(values) ? values : []);
    else note(config.text, config.values ?? (Array.isArray(values) ? values : []));
    return query.apply(this, args);
  } as typeof Client.prototype.query;
  try {
    await work();
  } finally {
    Object.assign(statements, statementMethods);
    Client.prototype.query = query as typeof Client.prototype.query;
  }
  return [...queries.values()];
}

const statements = Object.getPrototypeOf(new DatabaseSync(":memory:").prepare("select 1")) as Record<string, unknown>;
const statementMethods = { run: statements["run"], all: statements["all"], get: statements["get"] };

async function explained(where: TestDatabase["where"], queries: Query[]) {
  if ("url" in where) return withClient(where.url, (client) => explainOnPostgres(client, queries));
  const db = new DatabaseSync(where.path, { readOnly: true });
  try {
    return explainOnSqlite(db, queries);
  } finally {
    db.close();
  }
}

function explainOnSqlite(db: DatabaseSync, queries: Query[]) {
  const tables = new Set(
    db
      .prepare("select name from sqlite_master where type = 'table'")
      .all()
      .map(({ name }) => String(name)),
  );
  return queries.map(({ sql }) => {
    const steps = db.prepare(`explain query plan ${sql}`).all();
    const problems = steps
      .map(({ detail }) => String(detail))
      .filter((detail) => {
        // If an index already sorts the rows by the first columns, SQLite only sorts them within equal values of these
        // columns.
        if (detail.startsWith("USE TEMP B-TREE")) return !detail.includes("FOR LAST");
        // If a full-text search has a constraint, the plan names its index.
        const scan = /^SCAN (\S+)(?! VIRTUAL TABLE INDEX \d+:\S)/.exec(detail);
        return scan !== null && tables.has(scan[1]!);
      });
    return { sql, problems };
  });
}

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  Plans?: Plan[];
}

/**
 * The server prefers to read a table this small as a whole, so the settings make that expensive. The tables have no
 * statistics, because autovacuum is off: from the statistics of a single account it would conclude that its id is not
 * worth an index.
 */
async function explainOnPostgres(client: Client, queries: Query[]) {
  const { rows: settings } = await client.query<{ autovacuum: string }>("show autovacuum");
  assert.equal(settings[0]!.autovacuum, "off");
  for (const method of ["seqscan", "sort", "hashjoin", "mergejoin"]) await client.query(`set enable_${method} = off`);
  const results: { sql: string; problems: string[] }[] = [];
  for (const { sql, values } of queries) {
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: Plan }[] }>(`explain (format json) ${sql}`, values);
    results.push({ sql, problems: [...problemsOf(rows[0]!["QUERY PLAN"][0]!.Plan)] });
  }
  return results;
}

function* problemsOf(plan: Plan): Generator<string> {
  const type = plan["Node Type"];
  if (type === "Seq Scan" || type === "Sort") yield `${type} ${plan["Relation Name"] ?? ""}`;
  if (/^Index (Only )?Scan$/.test(type) && plan["Index Cond"] === undefined)
    yield `${type} of the whole index ${plan["Index Name"]}`;
  for (const part of plan.Plans ?? []) yield* problemsOf(part);
}
