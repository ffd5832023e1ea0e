import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type Log } from "../kernel/index.ts";
import { createLocalEvents, createSecrets } from "../store/index.ts";
import { createCertificatesTable } from "./certificates-table.ts";
import { createAcmeCertificates } from "./from-acme.ts";
import { certificatesMigrations } from "./migrations.ts";
import { makeSelfSigned } from "./self-signed.ts";

/** Nothing listens on port 1, so every order fails. */
const DIRECTORY = "https://127.0.0.1:1/directory";

onEveryDatabase((engine: TestEngine) => {
  test("after a failed order, the other certificates of the account wait for the next poll", async (t) => {
    const { db } = await engine.open(t, certificatesMigrations);
    const events = createLocalEvents({ log: silentLog });
    t.after(() => events.close());
    const clock = createManualClock(Date.now());
    const failed: string[] = [];
    const { promise: allFailed, resolve } = Promise.withResolvers<void>();
    const log: Log = {
      ...silentLog,
      warn(fields: unknown) {
        const { names } = fields as { names?: string[] };
        if (names === undefined) return;
        failed.push(...names);
        if (names.includes("one.b.example")) resolve();
      },
    };
    const certificates = await createAcmeCertificates({
      db,
      events,
      secrets: createSecrets({ keys: [randomBytes(32)] }),
      clock,
      ids: randomIds,
      log,
      directory: DIRECTORY,
      solver: { type: "http-01", present: async () => {}, cleanUp: async () => {} },
      ownNames: [["mx.example"]],
      tenantHosts: async () => [
        { host: "one.a.example", account: "a" },
        { host: "two.a.example", account: "a" },
        { host: "one.b.example", account: "b" },
      ],
      fallback: makeSelfSigned({ names: ["fallback.example"], clock }),
    });
    t.after(() => certificates.close());
    certificates.start();
    await allFailed;
    assert.deepEqual(failed, ["mx.example", "one.a.example", "one.b.example"]);
  });

  test("knows the names of valid certificates, but not those of expired or missing ones", async (t) => {
    const { db } = await engine.open(t, certificatesMigrations);
    const table = createCertificatesTable(db);
    const row = (id: string, directory = DIRECTORY) => ({ id, directory, names: `["${id}.example"]`, next_at: 0 });
    await table.ensureRows([row("valid"), row("expired"), row("missing"), row("elsewhere", "https://other.example/")]);
    for (const [id, notAfter] of [
      ["valid", 2000],
      ["expired", 1000],
      ["elsewhere", 2000],
    ] as const) {
      await table.claim(id, "lease", 0, 1);
      await table.storeIssued(id, "lease", { chain: "chain", private_key: "key", not_after: notAfter, next_at: 1500 });
    }
    assert.deepEqual(await table.issuedNames(DIRECTORY, 1000), [["valid.example"]]);
  });
});
