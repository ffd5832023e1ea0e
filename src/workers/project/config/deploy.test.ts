import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { UserError } from "../../../kernel/errors.ts";
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

test("read for a deploy: server ids, no local secrets, server-only fields", async (t) => {
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

test("a storage binding without a server id cannot be deployed, and each is reported with the command that creates the resource", async (t) => {
  const root = await folder(t, {
    ...minimal,
    kv_namespaces: [{ binding: "KV" }, { binding: "OK", id: "x" }],
    r2_buckets: [{ binding: "MY_FILES" }],
    d1_databases: [{ binding: "DB", database_name: "letters" }],
    env: { staging: { kv_namespaces: [{ binding: "KV" }] } },
  });
  const refused = await readProject({ cwd: root, clock, purpose: "deploy" }).then(
    () => assert.fail("the configuration was accepted"),
    (thrown: UserError) => thrown,
  );
  assert.equal(
    refused.message.replace(/:1:\d+/g, ""),
    `wrangler.json: 3 errors

wrangler.json: error: "kv_namespaces[0]" does not specify the KV namespace on the server: the binding KV has no "id"
  fix: create one with \`reelpost kv namespace create KV\`, and write its id here as "id"
wrangler.json: error: "r2_buckets[0]" does not specify the R2 bucket on the server: the binding MY_FILES has no "bucket_name"
  fix: create one with \`reelpost r2 bucket create my-files\`, and write its name here as "bucket_name"
wrangler.json: error: "d1_databases[0]" does not specify the D1 database on the server: the binding DB has no "database_id"
  fix: create one with \`reelpost d1 create letters\`, and write its id here as "database_id"`,
  );
  await assert.rejects(
    readProject({ cwd: root, clock, purpose: "deploy", environment: "staging" }),
    /wrangler\.json: 1 error/,
  );
});

test("a target needs no code, date or name; fields that are present must be valid", async (t) => {
  const root = await folder(t, {
    name: "mail",
    d1_databases: [{ binding: "DB", database_name: "letters", migrations_dir: "sql" }],
    env: { staging: { r2_buckets: [{ binding: "B", bucket_name: "files" }] } },
  });
  const target = await readProjectTarget({ cwd: join(root, "src") });
  assert.deepEqual(target, {
    configFile: join(root, "wrangler.json"),
    root,
    name: "mail",
    accountId: undefined,
    kvNamespaces: [],
    r2Buckets: [],
    d1Databases: [
      {
        binding: "DB",
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
    ["mail-staging", [{ binding: "B", name: "files" }], []],
  );
  await assert.rejects(readProjectTarget({ cwd: root, environment: "stagin" }), /there is no environment "stagin"/);
  await assert.rejects(readProjectTarget({ cwd: root, config: "missing.json" }), {
    code: "E_CONFIGURATION_UNREADABLE",
  });
  await writeFile(join(root, "wrangler.json"), `{ "name": 5 }`);
  await assert.rejects(readProjectTarget({ cwd: root }), { code: "E_CONFIGURATION" });
  assert.equal(await readProjectTarget({ cwd: tmpdir() }), undefined);
});
