import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../test/support/databases.ts";
import { randomIds, systemClock } from "../kernel/index.ts";
import { accountsMigrations } from "./migrations.ts";
import { createFirstRun } from "./first-run.ts";
import { createValueSealer } from "./tokens/value.ts";

onEveryDatabase((engine) =>
  test("accepts a first token of 32 to 200 visible characters and rejects others with the setting's error", async (t) => {
    const { db } = await engine.open(t, accountsMigrations);
    const sealValue = createValueSealer(undefined);
    const firstRun = createFirstRun({
      audit: { record: async () => {} },
      db,
      ids: randomIds,
      clock: systemClock,
      sealValue,
      onChanged() {},
    });
    for (const token of ["t".repeat(31), "t".repeat(201), "two words ".repeat(4), `${"t".repeat(40)}\n`]) {
      await assert.rejects(
        firstRun.bootstrap({ token }),
        { kind: "weakToken", message: /32 to 200/ },
        JSON.stringify(token),
      );
    }
    assert.ok(await firstRun.bootstrap({ token: "t".repeat(32) }));
  }),
);
