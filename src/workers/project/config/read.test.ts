import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { formatProblems } from "../../../kernel/config/index.ts";
import { NEWEST_COMPATIBILITY_DATE, supportedDate } from "./compatibility.ts";
import { DATE, folder, minimal, read, refusal, warnings } from "./read.testing.ts";

test("a file with every field becomes a project", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{
      "$schema": "node_modules/wrangler/config-schema.json",
      // comments and a trailing comma are welcome
      ${minimal},
      "compatibility_flags": ["nodejs_compat"],
      "send_email": [{ "name": "ANY" }, { "name": "ONE", "destination_address": "a@example.com" }, { "name": "MANY", "allowed_destination_addresses": ["a@example.com"], "allowed_sender_addresses": ["me@example.com"], "remote": true }],
      "kv_namespaces": [{ "binding": "KV", "id": "k1" }, { "binding": "PREVIEW", "id": "k1", "preview_id": "k2" }],
      "r2_buckets": [{ "binding": "FILES", "bucket_name": "files" }],
      "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "d1", "migrations_dir": "migrations" }, { "binding": "Own_DB" }],
      "vars": { "URL": "https://example.com", "LIST": [1, { "a": null }], "TOKEN": "overridden" },
      "limits": { "cpu_ms": 50 },
      "rules": [{ "type": "Text", "globs": ["**/*.md"], "fallthrough": true }],
      "define": { "FLAG": "true" }, "alias": { "x": "./src/x.ts" }, "minify": true, "tsconfig": "tsconfig.json",
      "dev": { "port": 9999, "ip": "127.0.0.1" },
      "assets": { "directory": "public", "binding": "ASSETS", "html_handling": "none", "not_found_handling": "404-page", "run_worker_first": ["/api/*"] },
      "addresses": ["hi@example.com", "*@example.com"],
      "observability": { "enabled": true }, "workers_dev": true, "routes": [],
      "durable_objects": { "bindings": [] }, "queues": {},
      "reelpost": { "verified_addresses": ["a@example.com"], "smtp_port": 2600, "egress": { "allow_loopback": true, "deny_ports": [25], "allow": ["10.0.0.0/8"] }, "limits": { "email_wall_ms": 1000 } },
    }`,
    "public/index.html": "",
    ".dev.vars": "TOKEN=s3cret\nOTHER='x y'\n",
  });
  const project = await read(join(root, "src"));
  assert.deepEqual(project, {
    configFile: join(root, "wrangler.jsonc"),
    root,
    userRoot: root,
    environment: undefined,
    name: "mail",
    main: join(root, "src/index.ts"),
    assets: {
      directory: join(root, "public"),
      binding: "ASSETS",
      config: { htmlHandling: "none", notFoundHandling: "404-page", runWorkerFirst: ["/api/*"] },
    },
    compatibilityDate: DATE,
    compatibilityFlags: ["nodejs_compat"],
    bindings: [
      { type: "send_email", name: "ANY" },
      { type: "send_email", name: "ONE", destination_address: "a@example.com" },
      {
        type: "send_email",
        name: "MANY",
        allowed_destination_addresses: ["a@example.com"],
        allowed_sender_addresses: ["me@example.com"],
      },
      { type: "kv_namespace", name: "KV", namespace_id: "k1" },
      { type: "kv_namespace", name: "PREVIEW", namespace_id: "k2" },
      { type: "r2_bucket", name: "FILES", bucket_name: "files" },
      { type: "d1", name: "DB", id: "d1" },
      { type: "d1", name: "Own_DB", id: "mail-own-db" },
      { type: "assets", name: "ASSETS" },
      { type: "plain_text", name: "URL", text: "https://example.com" },
      { type: "json", name: "LIST", json: [1, { a: null }] },
      { type: "secret_text", name: "TOKEN", text: "s3cret" },
      { type: "secret_text", name: "OTHER", text: "x y" },
    ],
    unnamedResources: [{ binding: "Own_DB", name: undefined }],
    queueConsumers: [],
    tailConsumers: [],
    objectMigrations: [],
    missingBindings: [],
    requiredSecrets: [],
    localSecrets: ["TOKEN", "OTHER"],
    deploy: {
      accountId: undefined,
      routes: { routes: [], customDomains: [] },
      workersDev: true,
      previewUrls: undefined,
      keepVars: false,
      crons: undefined,
      observability: { enabled: true },
      logpush: undefined,
    },
    limits: { cpuMs: 50 },
    build: {
      command: undefined,
      rules: [{ type: "Text", globs: ["**/*.md"], fallthrough: true }],
      define: { FLAG: "true" },
      alias: { x: "./src/x.ts" },
      minify: true,
      noBundle: false,
      tsconfig: join(root, "tsconfig.json"),
      jsxFactory: undefined,
      jsxFragment: undefined,
    },
    dev: { port: 9999, ip: "127.0.0.1" },
    addresses: ["hi@example.com", "*@example.com"],
    reelpost: {
      verifiedAddresses: ["a@example.com"],
      smtpPort: 2600,
      egress: { allowLoopback: true, denyPorts: [25], allow: ["10.0.0.0/8"] },
      limits: { emailWallMs: 1000 },
    },
    warnings: [],
    files: ["wrangler.jsonc", ".dev.vars", ".env", ".env.local"].map((name) => join(root, name)),
  });
});

test("a named environment inherits settings but not bindings", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "compatibility_flags": ["nodejs_compat"],
  "vars": { "A": "top" }, "kv_namespaces": [{ "binding": "KV", "id": "k" }], "vectorize": [{ "binding": "Q", "index_name": "q" }],
  "env": { "staging": { "vars": { "A": "staging" }, "limits": { "cpu_ms": 9 } }, "named": { "name": "other", "main": "src/two.ts", "vars": {}, "kv_namespaces": [] } } }`,
    "src/two.ts": "",
    ".dev.vars": "S=everyone",
    ".dev.vars.staging": "S=staging",
  });
  const staging = await read(root, { environment: "staging" });
  assert.equal(staging.name, "mail-staging");
  assert.deepEqual(staging.compatibilityFlags, ["nodejs_compat"]);
  assert.deepEqual(staging.limits, { cpuMs: 9 });
  assert.deepEqual(staging.bindings, [
    { type: "plain_text", name: "A", text: "staging" },
    { type: "secret_text", name: "S", text: "staging" },
  ]);
  assert.equal(
    formatProblems(staging.warnings, { cwd: root }),
    `wrangler.jsonc:2:27: warning: "kv_namespaces" is set at the top level but not in "env.staging", which does not inherit it
  fix: repeat it in "env.staging" if the worker needs it there`,
  );
  const named = await read(root, { environment: "named" });
  assert.deepEqual(
    [named.name, named.main, named.bindings, named.warnings],
    ["other", join(root, "src/two.ts"), [{ type: "secret_text", name: "S", text: "everyone" }], []],
  );
  assert.match(await refusal(root, { purpose: "deploy" }), /"vectorize": reelpost does not support Vectorize/);
  assert.equal(
    await refusal(root, { environment: "stagging" }),
    `wrangler.jsonc: 1 error

wrangler.jsonc:3:3: error: there is no environment "stagging" in the configuration
  fix: did you mean "staging"?`,
  );
});

test("searches for the file in order, in parent folders, or at --config, and reports if there is none", async (t) => {
  const root = await folder(t, {
    "wrangler.toml": `name = "toml"\nmain = "src/index.ts"\ncompatibility_date = "${DATE}"\n`,
    "a/wrangler.json": `{ ${minimal.replace("src", "../src")} }`,
    "a/reelpost.jsonc": `{ ${minimal.replace("src", "../src").replace("mail", "ours")} }`,
    "a/b/c/x": "",
  });
  assert.equal((await read(root)).name, "toml");
  assert.equal((await read(join(root, "a/b/c"))).name, "mail");
  assert.equal(
    await warnings(join(root, "a")),
    "wrangler.json: warning: reelpost.jsonc in the same folder is ignored\n  fix: remove one of them, or choose with --config",
  );
  assert.equal((await read(root, { config: "a/reelpost.jsonc" })).name, "ours");
  assert.equal(await refusal(root, { config: "nope.jsonc" }), "Cannot read <root>/nope.jsonc: the file does not exist");
  assert.match(
    await refusal("/").then((text) => text.replace("<root>", "/")),
    /^There is no configuration file in \/ or a folder above it \(looked for wrangler\.jsonc, wrangler\.json, wrangler\.toml, reelpost\.jsonc\)\.$/,
  );
});

test("a date newer than the runtime is accepted with a warning", async (t) => {
  const root = await folder(t, { "wrangler.jsonc": `{ ${minimal.replace(DATE, "2026-11-20")} }` });
  const project = await read(root);
  assert.equal(project.compatibilityDate, "2026-11-20");
  assert.equal(supportedDate(project.compatibilityDate), NEWEST_COMPATIBILITY_DATE);
  assert.match(
    formatProblems(project.warnings, { cwd: root }),
    /^wrangler\.jsonc:1:65: warning: "compatibility_date" is "2026-11-20", but the workerd installed here supports dates up to \S+; falling back to/,
  );
});

test(".wrangler/deploy/config.json replaces the configuration, unless --config is given", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal} }`,
    ".wrangler/deploy/config.json": JSON.stringify({ configPath: "../../dist/wrangler.json" }),
    "dist/wrangler.json": JSON.stringify({
      name: "built",
      main: "index.js",
      compatibility_date: DATE,
      no_bundle: true,
      topLevelName: "mail",
      userConfigPath: "../wrangler.jsonc",
      definedEnvironments: [],
      // Fields that only a newer generator writes.
      agent_memory: [],
      connect: { to: [] },
    }),
    "dist/index.js": "export default {};",
    ".dev.vars": "API_KEY=s3cret",
  });
  const built = await read(root);
  assert.deepEqual([built.name, built.main, built.warnings], ["built", join(root, "dist/index.js"), []]);
  // The next build empties its output folder, so secrets and stored data belong in the folder of the user's file.
  assert.deepEqual([built.root, built.userRoot], [join(root, "dist"), root]);
  assert.deepEqual(built.localSecrets, ["API_KEY"]);
  assert.equal((await read(root, { config: "wrangler.jsonc" })).name, "mail");
  await rm(join(root, "dist/wrangler.json"));
  assert.match(
    await refusal(root),
    /^<root>\/\.wrangler\/deploy\/config\.json does not specify a configuration file: .* does not exist$/,
  );
});

test("the former field usage_model is ignored without a warning", async (t) => {
  assert.equal(await warnings(await folder(t, { "wrangler.jsonc": `{ ${minimal}, "usage_model": "unbound" }` })), "");
});
