import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi, type Reply, type Scope, type SeenRequest } from "../cli.testing.ts";

const SCRIPT = `/accounts/${ACCOUNT}/workers/scripts/letters`;
const ABSENT: Reply = {
  status: 404,
  errors: [{ code: 10007, message: "This Worker does not exist on your account." }],
};
const VERSION = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

const configuration = {
  name: "letters",
  main: "src/index.ts",
  compatibility_date: "2026-10-01",
  compatibility_flags: ["nodejs_compat"],
  vars: { GREETING: "hi", LIMITS: { n: 1 } },
  kv_namespaces: [{ binding: "NOTES", id: "kv-live", preview_id: "kv-preview" }],
  limits: { cpu_ms: 50 },
};

const files = (more: object = {}) => ({
  "wrangler.json": JSON.stringify({ ...configuration, ...more }),
  "src/index.ts": `import page from "./page.html";\nexport default { async fetch(request: Request, env: any) { return new Response(page + env.GREETING + env.API_KEY + (await env.NOTES.get("x"))) } };\n`,
  "src/page.html": "<p>hello</p>",
  ".dev.vars": "API_KEY=local\n",
});

const start = (t: Scope, more: Record<string, Reply | ((seen: SeenRequest, url: string) => Reply)> = {}) =>
  startFakeApi(t, {
    [`GET ${SCRIPT}/secrets`]: { result: [{ name: "API_KEY", type: "secret_text" }] },
    [`PUT ${SCRIPT}`]: { result: { id: "letters", deployment_id: VERSION, startup_time_ms: 12 } },
    [`POST ${SCRIPT}/versions`]: { result: { id: VERSION, number: 7, startup_time_ms: 12 } },
    [`POST ${SCRIPT}/subdomain`]: { result: { enabled: true } },
    [`PUT ${SCRIPT}/schedules`]: { result: { schedules: [] } },
    [`GET /accounts/${ACCOUNT}/workers/workers/letters`]: {
      result: { subdomain: { enabled: true, url: "http://letters.main.localhost:8787" } },
    },
    ...more,
  });

const formOf = ({ body, headers }: SeenRequest) =>
  new Response(new Uint8Array(body), { headers: { "content-type": headers["content-type"]! } }).formData();

test("deploy uploads the bundle in wrangler's format, then sets the address and the triggers", async (t) => {
  const api = await start(t);
  const cwd = await folderWith(t, files({ triggers: { crons: ["*/5 * * * *"] }, observability: { enabled: true } }));
  const ran = await runCli(["deploy", "--message", "new footer", "--json"], { cwd, api });
  assert.deepEqual([ran.code, ran.stderr], [0, ""]);
  assert.deepEqual(api.calls(), [
    `GET ${SCRIPT}/secrets`,
    `PUT ${SCRIPT}`,
    `POST ${SCRIPT}/subdomain`,
    `GET /accounts/${ACCOUNT}/workers/workers/letters`,
    `PUT ${SCRIPT}/schedules`,
  ]);
  const upload = api.seen[1]!;
  assert.equal(upload.path.split("?")[1], "excludeScript=true&bindings_inherit=strict");
  assert.ok(Number(upload.headers["content-length"]) > 0);
  const form = await formOf(upload);
  assert.deepEqual(JSON.parse(form.get("metadata") as string), {
    main_module: "index.js",
    bindings: [
      { type: "kv_namespace", name: "NOTES", namespace_id: "kv-live" },
      { type: "plain_text", name: "GREETING", text: "hi" },
      { type: "json", name: "LIMITS", json: { n: 1 } },
    ],
    compatibility_date: "2026-10-01",
    compatibility_flags: ["nodejs_compat"],
    keep_bindings: ["secret_text", "secret_key"],
    limits: { cpu_ms: 50 },
    observability: { enabled: true },
    tail_consumers: [],
    annotations: { "workers/message": "new footer" },
  });
  const page = `./${createHash("sha1").update("<p>hello</p>").digest("hex")}-page.html`;
  const parts = [...form].flatMap(([name, part]) => (typeof part === "string" ? [] : [[name, part.name, part.type]]));
  assert.deepEqual(parts, [
    ["index.js", "index.js", "application/javascript+module"],
    [page, page, "text/plain"],
    ["index.js.map", "index.js.map", "application/source-map"],
  ]);
  assert.ok((await (form.get("index.js") as File).text()).includes(page));
  assert.deepEqual(
    [api.bodies(`POST ${SCRIPT}/subdomain`), api.bodies(`PUT ${SCRIPT}/schedules`)],
    [[{ enabled: true }], [[{ cron: "*/5 * * * *" }]]],
  );
  const { ms, size, gzip, ...result } = ran.json;
  assert.deepEqual(result, {
    name: "letters",
    version_id: VERSION,
    url: "http://letters.main.localhost:8787",
    mail: null,
    first: false,
    modules: 2,
    crons: ["*/5 * * * *"],
    startup_ms: 12,
    bindings: [
      { name: "NOTES", type: "kv_namespace" },
      { name: "GREETING", type: "plain_text" },
      { name: "LIMITS", type: "json" },
    ],
    missing_secrets: [],
  });
  assert.ok(ms > 0 && size > 12 && gzip > 0);
});

test("the human-readable output shows the upload, the worker's URL, its email addresses and its bindings", async (t) => {
  const api = await start(t, {
    [`PUT ${SCRIPT}`]: { result: { deployment_id: VERSION, startup_time_ms: 12, handlers: ["fetch", "email"] } },
  });
  const cwd = await folderWith(t, files());
  const { code, stdout, stderr } = await runCli(["deploy"], { cwd, api });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal(
    stdout.replace(/in \d+ms/, "in …").replace(/uploaded .*/, "uploaded …"),
    `Deployed letters in …
uploaded …
started in  12 ms
version     ${VERSION}
address     http://letters.main.localhost:8787
mail to     letters@main.localhost

binding       type             value
env.NOTES     KV namespace     kv-live
env.GREETING  variable         "hi"
env.LIMITS    variable (JSON)  {"n":1}
`,
  );
  assert.equal(
    api.calls().includes(`PUT ${SCRIPT}/schedules`),
    false,
    "settings that the file does not contain are unchanged",
  );
});

test("a worker that only handles email has no URL", async (t) => {
  const api = await start(t, {
    [`PUT ${SCRIPT}`]: { result: { deployment_id: VERSION, startup_time_ms: 12, handlers: ["email"] } },
  });
  const { stdout } = await runCli(["deploy"], { cwd: await folderWith(t, files()), api });
  assert.match(stdout, /^mail to {5}letters@main\.localhost$/m);
  assert.doesNotMatch(stdout, /^address/m);
});

test("options override the configured name, variables, kept variables and address", async (t) => {
  const other = SCRIPT.replace("letters", "other");
  const api = await start(t, {
    [`GET ${other}/secrets`]: { result: [] },
    [`PUT ${other}`]: { result: { deployment_id: VERSION, startup_time_ms: 1 } },
    [`POST ${other}/subdomain`]: { result: {} },
  });
  const cwd = await folderWith(t, files({ workers_dev: false }));
  const ran = await runCli(
    ["deploy", "--name", "other", "--var", "GREETING:a:b", "--var", "MORE:", "--keep-vars", "--json"],
    { cwd, api },
  );
  assert.deepEqual([ran.code, ran.json.name, ran.json.url], [0, "other", null]);
  const metadata = JSON.parse(
    (await formOf(api.seen.find(({ method }) => method === "PUT")!)).get("metadata") as string,
  );
  assert.deepEqual(
    metadata.bindings.filter(({ type }: { type: string }) => type === "plain_text"),
    [
      { type: "plain_text", name: "GREETING", text: "a:b" },
      { type: "plain_text", name: "MORE", text: "" },
    ],
  );
  assert.deepEqual(metadata.keep_bindings, ["secret_text", "secret_key", "plain_text", "json"]);
  assert.deepEqual(api.bodies(`POST ${other}/subdomain`), [{ enabled: false }]);
  for (const [variable, why] of [
    ["NOTES:x", /the configuration has a binding of this name/],
    ["1x:y", /does not have the form NAME:value/],
  ] as const) {
    const refused = await runCli(["deploy", "--var", variable], { cwd, api });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, why);
  }
});

test("deploy checks routes and custom domains before the upload, and sets them afterwards", async (t) => {
  const routes = ["a.example/*", { pattern: "a.example", custom_domain: true, zone_name: "a.example" }];
  const cwd = await folderWith(t, files({ routes, tail_consumers: [{ service: "logs" }] }));
  const emptyReplies = { [`PUT ${SCRIPT}/routes`]: { result: [] }, [`PUT ${SCRIPT}/domains/records`]: { result: [] } };
  const api = await start(t, emptyReplies);
  const ran = await runCli(["deploy", "--json"], { cwd, api });
  assert.deepEqual([ran.code, ran.json.routes], [0, ["a.example", "a.example/*"]]);
  const putCalls = [`PUT ${SCRIPT}/routes`, `PUT ${SCRIPT}/domains/records`];
  assert.deepEqual(
    api.calls().filter((call) => call.startsWith("PUT")),
    [...putCalls, `PUT ${SCRIPT}`, ...putCalls],
  );
  assert.deepEqual(
    api.seen
      .filter(({ path }) => path.includes("/routes") || path.includes("/domains"))
      .map(({ path }) => path.split("?")[1]),
    ["validate=true", "validate=true", undefined, undefined],
  );
  assert.deepEqual(api.bodies(putCalls[0]!)[1], [{ pattern: "a.example/*" }]);
  assert.deepEqual(api.bodies(putCalls[1]!)[1], { origins: [{ hostname: "a.example", zone_name: "a.example" }] });
  // By default, a worker with routes is disabled on the workers domain.
  assert.deepEqual(api.bodies(`POST ${SCRIPT}/subdomain`), [{ enabled: false }]);
  const conflictReply = {
    status: 409,
    errors: [{ code: 10020, message: "A route with the pattern a.example/* already exists." }],
  };
  const conflictApi = await start(t, { ...emptyReplies, [`PUT ${SCRIPT}/routes`]: conflictReply });
  assert.equal((await runCli(["deploy"], { cwd, api: conflictApi })).code, 1);
  assert.deepEqual(conflictApi.calls(), [`GET ${SCRIPT}/secrets`, `PUT ${SCRIPT}/routes`]);
});

test("a dry run sends no requests, and warns of undeclared names as `reelpost dev` does", async (t) => {
  const cwd = await folderWith(t, {
    ...files(),
    "src/index.ts": "export default { fetch: (request, env) => new Response(env.API_KEY + env.GRETING) };",
  });
  const ran = await runCli(["deploy", "--dry-run"], { cwd });
  assert.equal(ran.code, 0);
  assert.match(ran.stdout, /^letters was built; nothing was uploaded\nwould upload/);
  assert.equal(
    ran.stderr,
    `src/index.ts:1:70: warning: Binding not found: the code reads env.GRETING, but the configuration does not declare "GRETING"\n  fix: did you mean env.GREETING? Otherwise add to "vars" in wrangler.json: "GRETING": "…"; or, for a secret, to .dev.vars: GRETING=…\n`,
  );
  const json = await runCli(["deploy", "--dry-run", "--json"], { cwd });
  assert.deepEqual([json.json.dry_run, json.json.modules, json.stderr], [true, 1, ""]);
});

test("a missing required secret is an error if the worker exists, and a notice at the first deploy", async (t) => {
  const cwd = await folderWith(t, files({ secrets: { required: ["API_KEY", "OTHER"] } }));
  const api = await start(t);
  const refused = await runCli(["deploy", "--json"], { cwd, api });
  assert.deepEqual(
    [refused.code, refused.json.error.code, api.calls()],
    [1, "E_SECRETS_MISSING", [`GET ${SCRIPT}/secrets`]],
  );
  assert.match(refused.json.error.message, /not set on the server: OTHER\./);
  const fresh = await start(t, { [`GET ${SCRIPT}/secrets`]: ABSENT });
  const first = await runCli(["deploy"], { cwd, api: fresh });
  assert.equal(first.code, 0);
  assert.match(
    first.stderr,
    /warning: the secret API_KEY is required and has no value yet\n {2}fix: reelpost secret put API_KEY\n/,
  );
});

test("sends nothing if the build fails, and stops at the first error of the server", async (t) => {
  const broken = await start(t);
  const cwd = await folderWith(t, { ...files(), "src/index.ts": "export default {" });
  const build = await runCli(["deploy", "--json"], { cwd, api: broken });
  assert.deepEqual([build.code, build.json.error.code, broken.calls()], [1, "E_BUILD", [`GET ${SCRIPT}/secrets`]]);
  const refusing = await start(t, {
    [`PUT ${SCRIPT}`]: {
      status: 400,
      errors: [
        {
          code: 10041,
          message: "KV namespace 'kv-live' not found.",
          error_chain: [{ code: 10041, message: "Create it first" }],
        },
      ],
    },
  });
  const refused = await runCli(["deploy"], { cwd: await folderWith(t, files()), api: refusing });
  assert.deepEqual(
    [refused.code, refused.stdout, refused.stderr],
    [
      1,
      "",
      "error: KV namespace 'kv-live' not found. [code: 10041]\nfix: List the ids with `reelpost kv namespace list`, or create one with `reelpost kv namespace create <title>`.\n",
    ],
  );
  assert.deepEqual(refusing.calls(), [`GET ${SCRIPT}/secrets`, `PUT ${SCRIPT}`]);
});

test("a service worker is uploaded as a script instead of a module", async (t) => {
  const api = await start(t);
  const cwd = await folderWith(t, {
    ...files({ kv_namespaces: [] }),
    "src/index.ts": `addEventListener("fetch", (event: any) => event.respondWith(new Response("x")));`,
  });
  assert.equal((await runCli(["deploy"], { cwd, api })).code, 0);
  const form = await formOf(api.seen[1]!);
  const metadata = JSON.parse(form.get("metadata") as string);
  assert.deepEqual(
    [metadata.body_part, metadata.main_module, (form.get("index.js") as File).type],
    ["index.js", undefined, "application/javascript"],
  );
});

test("uploads a version of an existing worker without deploying it", async (t) => {
  const api = await start(t);
  const cwd = await folderWith(t, files());
  const ran = await runCli(["versions", "upload", "--json"], { cwd, api });
  assert.deepEqual([ran.code, ran.json.version_id, ran.json.number], [0, VERSION, 7]);
  assert.deepEqual(api.calls(), [`GET ${SCRIPT}/secrets`, `POST ${SCRIPT}/versions`]);
  const absentApi = await start(t, { [`GET ${SCRIPT}/secrets`]: ABSENT });
  assert.equal(
    (await runCli(["versions", "upload", "--json"], { cwd, api: absentApi })).json.error.code,
    "E_NEVER_DEPLOYED",
  );
});

test("deploy sends the migrations that the server has not applied", async (t) => {
  const migrations = [
    { tag: "v1", new_sqlite_classes: ["A"] },
    { tag: "v2", renamed_classes: [{ from: "A", to: "B" }] },
    { tag: "v3", new_classes: ["C"] },
  ];
  const cwd = await folderWith(t, files({ migrations }));
  const service = `GET /accounts/${ACCOUNT}/workers/services/letters`;
  const serviceReply = (tag?: string): Reply => ({
    result: { default_environment: { script: { ...(tag !== undefined && { migration_tag: tag }) } } },
  });
  const sentMigrations = async (reply: Reply) => {
    const api = await start(t, { [service]: reply });
    const ran = await runCli(["deploy", "--json"], { cwd, api });
    const put = api.seen.find(({ method }) => method === "PUT");
    return put === undefined
      ? ran.json.error.code
      : JSON.parse((await formOf(put)).get("metadata") as string).migrations;
  };
  const steps = migrations.map(({ tag: _tag, ...step }) => step);
  const missingService: Reply = { status: 404, errors: [{ code: 10090, message: "This service does not exist." }] };
  assert.deepEqual(await sentMigrations(missingService), { new_tag: "v3", steps });
  assert.deepEqual(await sentMigrations(serviceReply()), { new_tag: "v3", steps });
  assert.deepEqual(await sentMigrations(serviceReply("v1")), { old_tag: "v1", new_tag: "v3", steps: steps.slice(1) });
  assert.equal(await sentMigrations(serviceReply("v3")), undefined);
  assert.equal(await sentMigrations(serviceReply("v0")), "E_MIGRATION_TAG_MISSING");
  const api = await start(t, { [service]: serviceReply("v1") });
  const version = await runCli(["versions", "upload", "--json"], { cwd, api });
  assert.equal(version.json.error.code, "E_MIGRATION_PENDING");
});
