import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { TlsFailure, TlsResult } from "../outbound/types.ts";
import { createResultLog, DAY_MS, type ResultLogLimits } from "./result-log.ts";
import { createTlsResultsTable, tlsReportsMigration } from "./results-table.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const DAY = Math.floor(NOON / DAY_MS);

const resultOf = (domain: string, failure?: TlsFailure, more: Partial<TlsResult> = {}): TlsResult => ({
  domain,
  policy: { type: "no-policy-found", lines: [], mx: [] },
  failure,
  mx: `mx.${domain}`,
  ip: "192.0.2.1",
  sendingIp: "8.8.8.8",
  ...more,
});

async function open(t: TestContext, engine: TestEngine, limits: Partial<ResultLogLimits> = {}) {
  const { db } = await engine.open(t, [tlsReportsMigration]);
  const clock = createManualClock(NOON);
  const table = createTlsResultsTable(db);
  const make = (store: Pick<typeof table, "add"> = table) => {
    const made = createResultLog({ table: store, clock, log: silentLog, limits });
    t.after(() => made.close());
    return made;
  };
  const stored = async (domain: string, day = DAY) =>
    (await table.of({ day, domain }, 1000)).map(({ detail, sessions }) => ({
      ...(JSON.parse(detail) as { failure?: Record<string, string> }).failure,
      sessions,
    }));
  return { clock, table, make, stored };
}

onEveryDatabase((engine) => {
  test("aggregates the sessions of all processes by domain, day and result", async (t) => {
    const { clock, make, stored } = await open(t, engine);
    const [one, other] = [make(), make()];
    for (const log of [one, other, one]) {
      log.record(resultOf("a.example"));
      log.record(resultOf("a.example", { type: "certificate-expired" }));
      await log.flush();
    }
    other.record(resultOf("b.example"));
    clock.advance(DAY_MS);
    other.record(resultOf("a.example"));
    await other.flush();
    const rows = await stored("a.example");
    assert.deepEqual(
      rows.toSorted((x, y) => Object.keys(x).length - Object.keys(y).length),
      [
        { sessions: 3 },
        { type: "certificate-expired", mx: "mx.a.example", ip: "192.0.2.1", sendingIp: "8.8.8.8", sessions: 3 },
      ],
    );
    assert.deepEqual(await stored("b.example"), [{ sessions: 1 }]);
    assert.deepEqual(await stored("a.example", DAY + 1), [{ sessions: 1 }]);
  });

  test("keeps counts that could not be stored for the next attempt", async (t) => {
    const { table, make, stored } = await open(t, engine);
    let full = true;
    const log = make({ add: async (rows) => (full ? Promise.reject(new Error("disk full")) : table.add(rows)) });
    log.record(resultOf("a.example"));
    await log.flush();
    log.record(resultOf("a.example"));
    full = false;
    await log.flush();
    assert.deepEqual(await stored("a.example"), [{ sessions: 2 }]);
  });

  test("stores pending counts when it closes", async (t) => {
    const { make, stored } = await open(t, engine);
    const log = make();
    log.record(resultOf("a.example"));
    await log.close();
    assert.deepEqual(await stored("a.example"), [{ sessions: 1 }]);
  });

  test("above the per-domain limit, counts without details, and above the daily limit, counts no further domains", async (t) => {
    const { make, stored } = await open(t, engine, { domains: 2, perDomain: 3 });
    const log = make();
    for (let host = 1; host <= 9; host++)
      log.record(resultOf("a.example", { type: "validation-failure" }, { ip: `192.0.2.${host}` }));
    for (const domain of ["b.example", "c.example", "[192.0.2.1]"]) log.record(resultOf(domain));
    await log.flush();
    const rows = await stored("a.example");
    assert.deepEqual(
      rows.find((row) => !("ip" in row)),
      { type: "validation-failure", sessions: 6 },
    );
    assert.deepEqual([rows.length, await stored("b.example")], [4, [{ sessions: 1 }]]);
    assert.deepEqual([await stored("c.example"), await stored("[192.0.2.1]")], [[], []]);
  });

  test("omits this server's address if it is private", async (t) => {
    const { make, stored } = await open(t, engine);
    const log = make();
    log.record(resultOf("a.example", { type: "validation-failure" }, { sendingIp: "10.0.0.5" }));
    await log.flush();
    assert.deepEqual(await stored("a.example"), [
      { type: "validation-failure", mx: "mx.a.example", ip: "192.0.2.1", sessions: 1 },
    ]);
  });
});
