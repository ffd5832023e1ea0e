import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { readProject } from "./read.ts";
import { readProjectTarget } from "./target.ts";

const clock = createManualClock(Date.parse("2026-11-20"));

async function folder(t: TestContext, configuration: object): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "reelpost-deploy-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, "src"));
  await writeFile(join(root, "src/index.ts"), "export default {}");
  await writeFile(join(root, ".dev.vars"), "TOKEN=local\n");
  await writeFile(join(root, "wrangler.json"), JSON.stringify(configuration));
  return root;
}

const minimal = { name: "mail", main: "src/index.ts", compatibility_date: "2026-10-01" };

test("a configuration read for a deploy has server ids, no local secrets, and fields that only the server uses", async (t) => {
  const root = await folder(t, {
    ...minimal,
    account_id: "acc",
    workers_dev: false,
    keep_vars: true,
    triggers: { crons: ["* * * * *"] },
    observability: { enabled: true },
    vars: { TOKEN: "a variable" },
    secrets: { required: ["TOKEN", "OTHER"] },
    kv_namespaces: [{ binding: "KV", id: "there", preview_id: "here" }],
    d1_databases: [{ binding: "DB", database_id: "there", preview_database_id: "here" }],
  });
  const project = await readProject({ cwd: root, clock, purpose: "deploy" });
  assert.deepEqual(project.bindings, [
    { type: "kv_namespace", name: "KV", namespace_id: "there" },
    { type: "d1", name: "DB", id: "there" },
    { type: "plain_text", name: "TOKEN", text: "a variable" },
  ]);
  assert.deepEqual(project.deploy, {
    accountId: "acc",
    routes: undefined,
    workersDev: false,
    previewUrls: undefined,
    keepVars: true,
    crons: ["* * * * *"],
    observability: { enabled: true },
    logpush: undefined,
  });
  assert.deepEqual(
    [project.warnings, project.localSecrets, project.requiredSecrets],
    [[], ["TOKEN"], ["TOKEN", "OTHER"]],
  );
});

test("lists storage bindings without an id, with the name of the database to find or create", async (t) => {
  const root = await folder(t, {
    ...minimal,
    kv_namespaces: [
      { binding: "KV", preview_id: "here" },
      { binding: "OK", id: "x" },
    ],
    r2_buckets: [{ binding: "MY_FILES" }, { binding: "NAMED", bucket_name: "files" }],
    d1_databases: [{ binding: "DB", database_name: "letters" }, { binding: "OTHER" }],
    queues: { producers: [{ binding: "JOBS" }, { binding: "MORE", queue: "more" }] },
    env: { staging: { kv_namespaces: [{ binding: "KV" }] } },
  });
  const { unnamedResources } = await readProject({ cwd: root, clock, purpose: "deploy" });
  assert.deepEqual(unnamedResources, [
    { binding: "KV", name: undefined },
    { binding: "MY_FILES", name: undefined },
    { binding: "DB", name: "letters" },
    { binding: "OTHER", name: undefined },
    { binding: "JOBS", name: undefined },
  ]);
  const staging = await readProject({ cwd: root, clock, purpose: "deploy", environment: "staging" });
  assert.deepEqual(staging.unnamedResources, [{ binding: "KV", name: undefined }]);
});

test("a target needs no code, date or name, but fields that are present must be valid", async (t) => {
  const root = await folder(t, {
    name: "mail",
    d1_databases: [{ binding: "DB", database_name: "letters", migrations_dir: "sql" }],
    env: { staging: { r2_buckets: [{ binding: "B", bucket_name: "files" }] } },
  });
  const target = await readProjectTarget({ cwd: join(root, "src") });
  assert.deepEqual(target, {
    configFile: join(root, "wrangler.json"),
    userRoot: root,
    name: "mail",
    accountId: undefined,
    kvNamespaces: [],
    r2Buckets: [],
    d1Databases: [
      {
        binding: "DB",
        localId: "mail-db",
        wranglerIds: ["DB"],
        name: "letters",
        id: undefined,
        migrationsDir: join(root, "sql"),
        migrationsTable: "d1_migrations",
      },
    ],
  });
  const staging = await readProjectTarget({ cwd: root, environment: "staging" });
  assert.deepEqual(
    [staging?.name, staging?.r2Buckets, staging?.d1Databases],
    ["mail-staging", [{ binding: "B", localId: "files", wranglerIds: ["files", "B"], name: "files" }], []],
  );
  await assert.rejects(readProjectTarget({ cwd: root, environment: "stagin" }), /there is no environment "stagin"/);
  await assert.rejects(readProjectTarget({ cwd: root, config: "missing.json" }), {
    code: "E_CONFIGURATION_UNREADABLE",
  });
  await writeFile(join(root, "wrangler.json"), `{ "name": 5 }`);
  await assert.rejects(readProjectTarget({ cwd: root }), { code: "E_CONFIGURATION" });
  assert.equal(await readProjectTarget({ cwd: tmpdir() }), undefined);
});
