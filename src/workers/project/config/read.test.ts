import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { UserError } from "../../../kernel/errors.ts";
import { formatProblems } from "../../../kernel/config/index.ts";
import { NEWEST_COMPATIBILITY_DATE, supportedDate } from "./compatibility.ts";
import { type ReadProjectOptions, readProject } from "./read.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const DATE = "2026-10-01";

async function folder(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "reelpost-config-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ "src/index.ts": "export default {}", ...files })) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

const read = (cwd: string, options: Partial<ReadProjectOptions> = {}) =>
  readProject({ cwd, clock: createManualClock(NOW), ...options });

async function refusal(cwd: string, options: Partial<ReadProjectOptions> = {}): Promise<string> {
  const error = await read(cwd, options).then(
    () => assert.fail("the configuration was accepted"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UserError, String(error));
  return error.message.replaceAll(cwd, "<root>");
}

const warnings = async (cwd: string, options: Partial<ReadProjectOptions> = {}) =>
  formatProblems((await read(cwd, options)).warnings, { cwd });

const minimal = `"name": "mail", "main": "src/index.ts", "compatibility_date": "${DATE}"`;

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

test("reports all errors of a file together, with position and fix", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{
  "name": "my worker",
  "main": "src/index.js",
  "compatability_date": "2026-11-01",
  "compatibility_date": "2027-01-01",
  "compatibility_flags": "nodejs_compat",
  "send_email": [
    { "name": "SEB", "destination_address": "a@example.com", "allowed_destination_addresses": ["b@example.com"] },
    { "name": "2nd", "allowed_sender_addresses": ["nobody"], "destination": "x" },
    {}
  ],
  "kv_namespaces": [{ "binding": "SEB", "id": 5 }],
  "kv_namespace": [],
  "r2_buckets": { "binding": "B" },
  "d1_databases": [{ "binding": "DB", "database_id": "" }],
  "hyperdrive": [{ "binding": "DO", "id": "i" }],
  "vectorize": [{ "binding": "V", "index_name": "v" }],
  "vars": { "DB": 1 },
  "limits": { "cpu_ms": -5 },
  "rules": [{ "type": "Txt", "globs": [] }],
  "triggers": { "crons": ["* * * * *"] },
  "reelpost": { "smtp_port": 99999, "egress": { "allow": ["10.0.0.0/64"] } }
}
`,
    ".dev.vars": "SEB=1\noops\n",
  });
  assert.equal(
    await refusal(root),
    `wrangler.jsonc: 19 errors and 6 warnings

.dev.vars:1:1: error: the secret SEB has the same name as a binding, "send_email[0]" on line 8 of wrangler.jsonc
  fix: rename one of them
.dev.vars:2:1: error: this line is not NAME=value
  fix: write NAME=value; put # before a comment, and quotes around a multi-line value
wrangler.jsonc:2:11: error: "name" is not a worker name: "my worker"
  fix: use letters, digits, "-" and "_", at most 63
wrangler.jsonc:3:11: error: the file in "main" does not exist: "src/index.js"
  fix: did you mean "src/index.ts"?
wrangler.jsonc:4:3: warning: unknown field "compatability_date"; it is ignored
  fix: did you mean "compatibility_date"?
wrangler.jsonc:5:25: error: "compatibility_date" is in the future: "2027-01-01"; today is 2026-11-20
  fix: write "2026-11-20" or an earlier date
wrangler.jsonc:6:26: error: "compatibility_flags" should be a list: [ … ], but is the string "nodejs_compat"
  fix: for example ["nodejs_compat"]
wrangler.jsonc:8:62: error: "send_email[0]" bindings should have either a "destination_address" or "allowed_destination_addresses" field, but not both.
  fix: use "destination_address" for one recipient, "allowed_destination_addresses" for several
wrangler.jsonc:9:15: error: "send_email[1].name" is not a JavaScript name: "2nd"
  fix: use letters, digits and _, not starting with a digit: the code reads it as env.NAME
wrangler.jsonc:9:51: error: "send_email[1].allowed_sender_addresses[0]" is not an email address: "nobody"
  fix: for example "someone@example.com"
wrangler.jsonc:9:62: warning: unknown field "send_email[1].destination"; it is ignored
  fix: did you mean "destination_address"?
wrangler.jsonc:10:5: error: "send_email[2].name" is missing
  fix: add "name": "MY_BINDING"
wrangler.jsonc:12:34: error: duplicate name "SEB": "send_email[0].name" on line 8 already uses it
  fix: give every variable and binding a unique name: the code reads them all from env
wrangler.jsonc:12:47: error: "kv_namespaces[0].id" should be a string, but is the number 5
wrangler.jsonc:13:3: warning: unknown field "kv_namespace"; it is ignored
  fix: did you mean "kv_namespaces"?
wrangler.jsonc:14:17: error: "r2_buckets" should be a list: [ … ], but is an object
  fix: for example [{"binding":"BUCKET","bucket_name":"my-bucket"}]
wrangler.jsonc:15:33: error: duplicate name "DB": "vars.DB" on line 18 already uses it
  fix: give every variable and binding a unique name: the code reads them all from env
wrangler.jsonc:15:54: error: "d1_databases[0].database_id" is too short
wrangler.jsonc:16:3: warning: "hyperdrive": reelpost does not support Hyperdrive: env.DO is undefined
  fix: to deploy the worker, remove it or use --allow-missing-bindings
wrangler.jsonc:17:3: warning: "vectorize": reelpost does not support Vectorize: env.V is undefined
  fix: to deploy the worker, remove it or use --allow-missing-bindings
wrangler.jsonc:19:25: error: "limits.cpu_ms" should be at least 1, but is -5
  fix: for example 30000
wrangler.jsonc:20:23: error: "rules[0].type" should be one of "ESModule", "CommonJS", "CompiledWasm", "Text", "Data", but is "Txt"
  fix: did you mean "Text"?
wrangler.jsonc:21:17: warning: cron triggers do not run on schedule during development
  fix: run one with a request to /cdn-cgi/handler/scheduled; a deployed worker runs on schedule
wrangler.jsonc:22:30: error: "reelpost.smtp_port" should be at most 65535, but is 99999
  fix: for example 2525
wrangler.jsonc:22:59: error: "reelpost.egress.allow[0]" is neither an IP address nor a range
  fix: for example "10.1.2.0/24"`,
  );
});

test("reports missing required fields", async (t) => {
  const root = await folder(t, { "wrangler.json": "{}" });
  assert.equal(
    await refusal(root),
    `wrangler.json: 3 errors

wrangler.json:1:1: error: "name" is missing
  fix: add "name": "my-worker"
wrangler.json:1:1: error: "main" is missing
  fix: add "main": "src/index.ts"
wrangler.json:1:1: error: "compatibility_date" is missing
  fix: add "compatibility_date": "2026-11-20"`,
  );
  await writeFile(join(root, "wrangler.json"), "[]");
  assert.match(
    await refusal(root),
    /wrangler\.json:1:1: error: the configuration should be an object: \{ … \}, but is a list/,
  );
  await writeFile(join(root, "wrangler.json"), `{ "name": "x", }\n}`);
  assert.equal(
    await refusal(root),
    "wrangler.json: 1 error\n\nwrangler.json:2:1: error: there is unexpected text after the configuration\n  fix: remove everything after the last }",
  );
});

test("reports the same for TOML", async (t) => {
  const root = await folder(t, {
    "wrangler.toml": `name = "mail"
main = "src/index.ts"
compatibility_date = 2026-02-30

[[send_email]]
name = "SEB"
destination_address = "a@example.com"
allowed_destination_addresses = ["b@example.com"]

[[kv_namespaces]]
binding = 5

[env.staging.vars]
A = "b"
`.replace("2026-02-30", '"2026-02-30"'),
  });
  assert.equal(
    await refusal(root),
    `wrangler.toml: 3 errors

wrangler.toml:3:22: error: "compatibility_date" is not a valid date: "2026-02-30"
  fix: for example "2026-11-20"
wrangler.toml:8:1: error: "send_email[0]" bindings should have either a "destination_address" or "allowed_destination_addresses" field, but not both.
  fix: use "destination_address" for one recipient, "allowed_destination_addresses" for several
wrangler.toml:11:11: error: "kv_namespaces[0].binding" should be a string, but is the number 5
  fix: for example "MY_BINDING"`,
  );
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

test("searches for the file: order, parent folders, --config, none found", async (t) => {
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
  assert.equal(await refusal(root, { config: "nope.jsonc" }), "Cannot read <root>/nope.jsonc: there is no such file");
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

test("required secrets: only these are read, and a missing one is reported", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "secrets": { "required": ["A", "B"] } }`,
    ".dev.vars": "A=1\nC=2",
  });
  assert.deepEqual((await read(root)).bindings, [{ type: "secret_text", name: "A", text: "1" }]);
  assert.equal(
    await warnings(root),
    `wrangler.jsonc:1:110: warning: the secret B is required and has no value\n  fix: add B=… to ${join(root, ".dev.vars")}`,
  );
});

test("an unsupported binding is a warning in development, and an error in a deploy unless it may be missing", async (t) => {
  const config = (reelpost: object) =>
    JSON.stringify({
      name: "w",
      main: "index.js",
      compatibility_date: "2026-10-01",
      vectorize: [{ binding: "INDEX", index_name: "mail" }],
      browser: { binding: "BROWSER" },
      reelpost,
    });
  const root = await folder(t, { "wrangler.json": config({}), "index.js": "export default {};" });
  const missing = [
    { name: "BROWSER", product: "Browser Rendering" },
    { name: "INDEX", product: "Vectorize" },
  ];
  const development = await read(root);
  assert.deepEqual(development.missingBindings, missing);
  assert.deepEqual(
    development.warnings.map(({ message }) => message),
    [
      '"browser": reelpost does not support Browser Rendering: env.BROWSER is undefined',
      '"vectorize": reelpost does not support Vectorize: env.INDEX is undefined',
    ],
  );
  assert.match(
    await refusal(root, { purpose: "deploy" }),
    /error: "browser": reelpost does not support Browser Rendering\n +fix: remove it, or deploy without it: --allow-missing-bindings/,
  );
  assert.deepEqual((await read(root, { purpose: "deploy", allowMissing: true })).missingBindings, missing);
  await writeFile(join(root, "wrangler.json"), config({ missing_bindings: "undefined" }));
  assert.deepEqual((await read(root, { purpose: "deploy" })).missingBindings, missing);
});

test("secrets in .env files: later files override, variables are expanded, .dev.vars replaces them", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": `{ ${minimal}, "kv_namespaces": [{ "binding": "KV", "id": "k" }], "env": { "staging": {} } }`,
    ".env":
      'HOST=example.com\nURL="https://${HOST}/a"\nPRICE=\\$5\nPORT=${PORT_OF_PROCESS:-8080}\nKV=for-another-tool\nnot an assignment\n',
    ".env.local": "HOST=localhost\n",
    ".env.staging": "HOST=staging.example.com\n",
  });
  const secrets = async (options: Partial<ReadProjectOptions> = {}) =>
    Object.fromEntries(
      (await read(root, options)).bindings.flatMap((binding) =>
        binding.type === "secret_text" ? [[binding.name, binding.text]] : [],
      ),
    );
  assert.deepEqual(await secrets(), {
    HOST: "localhost",
    URL: "https://localhost/a",
    PRICE: "$5",
    PORT: "8080",
  });
  assert.equal((await secrets({ environment: "staging" }))["URL"], "https://staging.example.com/a");
  assert.deepEqual(await secrets({ env: { CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV: "false" } }), {});
  const included = await secrets({
    env: { CLOUDFLARE_INCLUDE_PROCESS_ENV: "true", PORT_OF_PROCESS: "1", HOST: "own" },
  });
  assert.deepEqual([included["PORT"], included["URL"], included["PORT_OF_PROCESS"]], ["1", "https://own/a", "1"]);
  assert.match(await warnings(root), /\.env:6:1: warning: this line is not NAME=value/);
  await writeFile(join(root, ".dev.vars"), "ONLY=this\n");
  assert.deepEqual(await secrets(), { ONLY: "this" });
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
    }),
    "dist/index.js": "export default {};",
  });
  const built = await read(root);
  assert.deepEqual([built.name, built.main, built.warnings], ["built", join(root, "dist/index.js"), []]);
  assert.equal((await read(root, { config: "wrangler.jsonc" })).name, "mail");
  await rm(join(root, "dist/wrangler.json"));
  assert.match(
    await refusal(root),
    /^<root>\/\.wrangler\/deploy\/config\.json does not name a configuration file: .* does not exist$/,
  );
});

test("a worker may have only assets; their fields are checked", async (t) => {
  const only = { name: "site", compatibility_date: DATE, assets: { directory: "./public" } };
  const root = await folder(t, { "wrangler.json": JSON.stringify(only), "public/index.html": "" });
  const project = await read(root);
  assert.deepEqual([project.main, project.bindings, project.assets?.directory], ["", [], join(root, "public")]);

  const refusal = async (config: object) => {
    const wrong = await folder(t, { "wrangler.json": JSON.stringify({ ...only, ...config }), "src/index.ts": "" });
    return read(wrong).then(
      ({ warnings }) => warnings.map(({ message }) => message).join("\n"),
      (err: Error) => err.message,
    );
  };
  assert.match(await refusal({}), /the directory in "assets.directory" does not exist: "\.\/public"/);
  assert.match(
    await refusal({ assets: { directory: "x", binding: "A" } }),
    /"assets.binding" is set, but there is no "main"/,
  );
  assert.match(
    await refusal({ assets: { directory: "x" }, queues: { consumers: [{ queue: "q" }] } }),
    /"queues.consumers" is set, but there is no "main"/,
  );
  assert.match(await refusal({ assets: {} }), /"assets.directory" is missing|assets.directory/);
  const main = "src/index.ts";
  assert.match(
    await refusal({ main, assets: { directory: "x", run_worker_first: ["!/a"] } }),
    /"assets.run_worker_first" is invalid: it has only negative patterns/,
  );
  assert.match(await refusal({ main, assets: { directory: "x", base_path: "/docs" } }), /"assets.base_path"/);
  assert.match(
    await refusal({ main, vars: { A: "1" }, assets: { directory: "x", binding: "A" } }),
    /duplicate name "A"/,
  );
});
