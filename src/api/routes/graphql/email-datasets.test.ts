import assert from "node:assert/strict";
import { test } from "node:test";
import { createBudget, GRAPHQL_LIMITS } from "./budget.ts";
import { emailDatasets } from "./email-datasets.ts";
import type { Field } from "./fields.ts";

const ROWS = 300;

/**
 * Returns `branches` times `dimensions { … }` with `width` aliases each; `onKey` is called whenever an alias is read.
 */
const groupFields = (branches: number, width: number, onKey: () => void): Field[] =>
  Array.from({ length: branches }, (_, i) => ({
    key: `d${i}`,
    name: "dimensions",
    args: {},
    fields: Array.from({ length: width }, (_leaf, j): Field => ({
      get key() {
        onKey();
        return `f${i}_${j}`;
      },
      name: "status",
      args: {},
      fields: [],
    })),
  }));

function groups(fields: Field[]) {
  const { emailRoutingAdaptiveGroups: dataset } = emailDatasets({
    days: 31,
    activity: {
      count: async ({ groupBy }) =>
        Array.from({ length: ROWS }, () => ({ count: 1, values: groupBy.map(() => "delivered") })),
      first: async () => [],
    },
  });
  return dataset!.rows({ account: "a", zone: "z" }, { limit: ROWS }, fields, createBudget(GRAPHQL_LIMITS));
}

test("reads the aliases of a query once instead of for each row", async () => {
  let reads = 0;
  const rows = await groups(groupFields(30, 31, () => reads++));
  assert.equal(rows.length, ROWS);
  assert.equal((rows[0]!["d29"] as Record<string, unknown>)["f29_30"], "delivered");
  assert.ok(reads < 10_000, `${reads} reads`);
});

test("yields to other work while building wide rows", async () => {
  let ticks = 0;
  let done = false;
  const tick = () => void (ticks++, done || setImmediate(tick));
  setImmediate(tick);
  await groups(groupFields(1, 900, () => {}));
  done = true;
  assert.ok(ticks >= 20, `${ticks} ticks`);
});

test("places two dimensions with the same alias in separate branches", async () => {
  const leaf = (name: string): Field => ({ key: "x", name, args: {}, fields: [] });
  const [row] = await groups([
    { key: "a", name: "dimensions", args: {}, fields: [leaf("status")] },
    { key: "b", name: "dimensions", args: {}, fields: [leaf("isLastEvent")] },
  ]);
  assert.deepEqual(row, { a: { x: "delivered" }, b: { x: 1 } });
});
