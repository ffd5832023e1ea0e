import type { LiveNode, Platform } from "./platform.ts";
import { checkItems, type Writer } from "./writer.ts";

const SMALL_BYTES = 500;
/** Large enough to be stored as an object; small values are stored in rows. */
const LARGE_BYTES = 200_000;

/** Creates writers of KV, R2 and D1. */
export async function createStorageWriters(platform: Platform): Promise<Writer[]> {
  const { api } = platform.first();
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "values" } });
  await api.ok("post", "r2/buckets", { body: { name: "values" } });
  return [
    valueWriter(platform, "kv", (key) => `storage/kv/namespaces/${namespace}/values/${key}`),
    valueWriter(platform, "r2", (key) => `r2/buckets/values/objects/${key}`),
    await rowWriter(platform),
  ];
}

const contentOf = (key: string, n: number) => `${key} `.repeat((n % 4 === 0 ? LARGE_BYTES : SMALL_BYTES) / 10);

/** Writes each value under a new key, and deletes every fifth value again, on a random node. */
function valueWriter(platform: Platform, kind: string, pathOf: (key: string) => string): Writer {
  /** The expected content by key; undefined after a deletion. */
  const expected = new Map<string, string | undefined>();
  return {
    kind,
    pauseMs: 80,
    async write(n) {
      const key = `${kind}-${n}`;
      const content = contentOf(key, n);
      await platform.any().api.ok("put", pathOf(key), { body: content });
      expected.set(key, content);
      if (n % 5 !== 4) return;
      // Until the deletion is acknowledged, its outcome is unknown.
      expected.delete(key);
      await platform.any().api.ok("delete", pathOf(key));
      expected.set(key, undefined);
    },
    acknowledged: () => expected.size,
    missing: ({ name, api }) =>
      checkItems(expected, async ([key, content]) => {
        const { status, body } = await api.call("get", pathOf(key));
        if (content === undefined) return status === 404 ? undefined : `${key} on ${name}: deleted, but ${status}`;
        if (status !== 200) return `${key} on ${name}: ${status}`;
        return body === content ? undefined : `${key} on ${name}: other content`;
      }),
  };
}

/** Writes rows to a D1 database, which is a file on the first node. */
async function rowWriter(platform: Platform): Promise<Writer> {
  const { uuid } = await platform.first().api.ok("post", "d1/database", { body: { name: "rows" } });
  const query = (node: LiveNode, sql: string, params: unknown[] = []) =>
    node.api.ok("post", `d1/database/${uuid}/query`, { body: { sql, params } });
  await query(platform.first(), "create table t (n integer primary key, content text)");
  const acknowledged: number[] = [];
  return {
    kind: "d1",
    pauseMs: 80,
    async write(n) {
      await query(platform.first(), "insert into t values (?, ?)", [n, `row ${n}`]);
      acknowledged.push(n);
    },
    acknowledged: () => acknowledged.length,
    async missing(node) {
      if (node.name !== platform.first().name) return [];
      const [{ results }] = await query(node, "select n, content from t");
      const rows = new Map((results as { n: number; content: string }[]).map((row) => [row.n, row.content]));
      return acknowledged.filter((n) => rows.get(n) !== `row ${n}`).map((n) => `row ${n}`);
    },
  };
}
