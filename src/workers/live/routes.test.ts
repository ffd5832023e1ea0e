import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { createManualClock } from "../../kernel/index.ts";
import { scriptsMigrations, type ScriptsTables } from "../scripts/schema.ts";
import { createScriptRoutes } from "./routes.ts";

const ACCOUNT = "a".repeat(32);
const ref = { account: ACCOUNT, script: "inbox" };

onEveryDatabase((engine) =>
  test("a deployment is cached until a change is reported, or only briefly if other processes may change it unnoticed", async (t) => {
    const { db } = await engine.open(t, scriptsMigrations);
    const tables = db.tables<ScriptsTables>();
    const clock = createManualClock(Date.now());
    const routes = createScriptRoutes({ db, clock, limit: 10 });
    assert.equal(await routes.load(ref), undefined);
    await db.write(
      tables.insertInto("worker_scripts").values({
        id: "s",
        account_id: ACCOUNT,
        name: "inbox",
        created_at: 0,
        modified_at: 0,
        subdomain_enabled: 1,
        previews_enabled: 0,
        settings: "{}",
        version_count: 1,
        deployment_count: 1,
        latest_version_id: "v",
        live_deployment_id: "d",
      }),
    );
    const version = {
      account_id: ACCOUNT,
      script_id: "s",
      created_at: 0,
      author: "{}",
      etag: "",
      format: "modules",
      main: "main.js",
      bindings: "[]",
      handlers: "[]",
      compatibility_date: "2026-01-01",
      compatibility_flags: "[]",
      limits: null,
      annotations: "{}",
      startup_ms: 0,
      size: 0,
    };
    for (const [number, id] of ["v", "w"].entries())
      await db.write(tables.insertInto("worker_versions").values({ ...version, id, number }));
    await db.write(
      tables
        .insertInto("worker_deployed_versions")
        .values({ deployment_id: "d", position: 0, version_id: "v", percentage: 100 }),
    );
    const versionOf = (route: ReturnType<typeof routes.known>) => route?.versions[0]?.versionId;
    assert.deepEqual(
      [versionOf(routes.known(ref)), versionOf(await routes.load(ref)), versionOf(routes.known(ref))],
      [undefined, "v", "v"],
    );

    // Another process deploys, and dies before it has reported the change.
    await db.write(tables.updateTable("worker_deployed_versions").set({ version_id: "w" }));
    assert.equal(versionOf(routes.known(ref)), "v");
    clock.advance(30_000);
    assert.equal(versionOf(routes.known(ref)), db.dialect === "sqlite" ? "v" : undefined);
    routes.forget("s");
    assert.deepEqual(
      [routes.known(ref), versionOf(await routes.load(ref)), versionOf(routes.known(ref))],
      [undefined, "w", "w"],
    );
  }),
);
