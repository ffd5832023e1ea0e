import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { messageOf } from "../../../kernel/errors.ts";
import { localObjects } from "../../objects/local-objects.ts";
import type { Binding } from "../../scripts/script.ts";
import { generateTypes } from "../types/generate.ts";
import { readProject } from "./read.ts";

const clock = createManualClock(Date.parse("2026-11-20T12:00:00Z"));

async function read(t: TestContext, fields: object, devVars?: string) {
  const root = await mkdtemp(join(tmpdir(), "reelpost-bindings-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, "src"));
  await writeFile(join(root, "src/index.ts"), "export default {}");
  const base = { name: "w", main: "src/index.ts", compatibility_date: "2026-10-01" };
  await writeFile(join(root, "wrangler.json"), JSON.stringify({ ...base, ...fields }));
  if (devVars !== undefined) await writeFile(join(root, ".dev.vars"), devVars);
  return readProject({ cwd: root, clock });
}

/** Fields of the configuration, the bindings that they declare, and the types of these bindings. */
const FIELDS: [fields: object, bindings: Binding[], types: string[]][] = [
  [
    { version_metadata: { binding: "VERSION" } },
    [{ type: "version_metadata", name: "VERSION" }],
    ["VERSION: WorkerVersionMetadata;"],
  ],
  [
    { ratelimits: [{ name: "LIMITER", namespace_id: "1001", simple: { limit: 100, period: 60 } }] },
    [{ type: "ratelimit", name: "LIMITER", namespace_id: "1001", simple: { limit: 100, period: 60 } }],
    ["LIMITER: RateLimit;"],
  ],
  [
    {
      unsafe: {
        bindings: [
          { name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 100, period: 60 }, dev: {} },
        ],
      },
    },
    [{ type: "ratelimit", name: "LIMITER", namespace_id: "1001", simple: { limit: 100, period: 60 } }],
    ["LIMITER: RateLimit;"],
  ],
  [
    { analytics_engine_datasets: [{ binding: "EVENTS", dataset: "events" }, { binding: "OTHER" }] },
    [
      { type: "analytics_engine", name: "EVENTS", dataset: "events" },
      { type: "analytics_engine", name: "OTHER", dataset: "OTHER" },
    ],
    ["EVENTS: AnalyticsEngineDataset;", "OTHER: AnalyticsEngineDataset;"],
  ],
  [
    {
      services: [
        { binding: "API", service: "api", environment: "production" },
        { binding: "ADMIN", service: "api", entrypoint: "Admin", props: { role: "owner" } },
      ],
    },
    [
      { type: "service", name: "API", service: "api" },
      { type: "service", name: "ADMIN", service: "api", entrypoint: "Admin", props: { role: "owner" } },
    ],
    ["API: Fetcher;", "ADMIN: Fetcher;"],
  ],
  [{ tail_consumers: [{ service: "logs", environment: "production" }, { service: "logs" }] }, [], []],
  [
    {
      durable_objects: {
        bindings: [
          { name: "COUNTER", class_name: "Counter" },
          { name: "OTHER", class_name: "Room", script_name: "rooms" },
        ],
      },
      migrations: [{ tag: "v1", new_sqlite_classes: ["Counter"] }],
    },
    [
      { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" },
      { type: "durable_object_namespace", name: "OTHER", class_name: "Room", script_name: "rooms" },
    ],
    ['COUNTER: DurableObjectNamespace<import("./src/index").Counter>;', "OTHER: DurableObjectNamespace;"],
  ],
];

for (const [fields, bindings, types] of FIELDS)
  test(`${Object.keys(fields).join()} yields bindings and types`, async (t) => {
    const project = await read(t, fields);
    assert.deepEqual(project.bindings, bindings);
    assert.deepEqual(project.warnings, []);
    assert.deepEqual(project.missingBindings, []);
    const generated = generateTypes(project);
    for (const type of types) assert.ok(generated.includes(type), generated);
  });

test("a binding in secrets_store_secrets has the value from .dev.vars, or causes a warning", async (t) => {
  const secrets_store_secrets = [
    { binding: "KEY", store_id: "s", secret_name: "api-key" },
    { binding: "OTHER", store_id: "s", secret_name: "other" },
  ];
  const project = await read(t, { secrets_store_secrets }, "KEY=local\nOWN=secret\n");
  assert.deepEqual(project.bindings, [
    { type: "secrets_store_secret", name: "KEY", store_id: "s", secret_name: "api-key", local: "local" },
    { type: "secrets_store_secret", name: "OTHER", store_id: "s", secret_name: "other" },
    { type: "secret_text", name: "OWN", text: "secret" },
  ]);
  assert.deepEqual(
    project.warnings.map(({ message }) => message),
    ["env.OTHER.get() fails in development: the secret has no value"],
  );
  assert.match(generateTypes(project), /KEY: SecretsStoreSecret;/);
});

test("checks rate limits in unsafe.bindings like ratelimits, and reports other types as unsupported", async (t) => {
  const limiter = { name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 100, period: 60 } };
  const problemsOf = (bindings: object[], more: object = {}) =>
    read(t, { unsafe: { bindings }, ...more }).then(
      () => "",
      (err: unknown) => messageOf(err),
    );
  assert.match(
    await problemsOf([{ ...limiter, simple: { limit: 100, period: 30 } }]),
    /error: "unsafe\.bindings\[0\]\.simple\.period" /,
  );
  assert.match(
    await problemsOf([{ ...limiter, namespace_id: 1001 }]),
    /"unsafe\.bindings\[0\]\.namespace_id" should be a string, but is the number 1001/,
  );
  assert.match(await problemsOf([limiter], { vars: { LIMITER: "x" } }), /duplicate name "LIMITER"/);

  const { bindings, missingBindings, warnings } = await read(t, {
    unsafe: { bindings: [limiter, { name: "OTHER", type: "beta_product" }] },
  });
  assert.deepEqual(bindings, [
    { name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 100, period: 60 } },
  ]);
  const product = "unsafe bindings and metadata other than rate limits";
  assert.deepEqual(missingBindings, [{ name: "OTHER", product }]);
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [`"unsafe": reelpost does not support ${product}: env.OTHER is undefined`],
  );
});

test("a worker that tail_consumers contains twice is listed once", async (t) => {
  assert.deepEqual((await read(t, { tail_consumers: [{ service: "a" }, { service: "a" }] })).tailConsumers, ["a"]);
});

test("routes can contain patterns and custom domains", async (t) => {
  const { deploy } = await read(t, {
    routes: ["a.example/*", { pattern: "b.example/x", zone_id: "z" }, { pattern: "c.example", custom_domain: true }],
  });
  assert.deepEqual(deploy.routes, {
    routes: [
      { pattern: "a.example/*", zoneId: undefined, zoneName: undefined },
      { pattern: "b.example/x", zoneId: "z", zoneName: undefined },
    ],
    customDomains: [
      { pattern: "c.example", zoneId: undefined, zoneName: undefined, enabled: undefined, previewsEnabled: undefined },
    ],
  });
  assert.equal((await read(t, { route: "a.example/" })).deploy.routes?.routes.length, 1);
  assert.equal((await read(t, {})).deploy.routes, undefined);
});

test("a Durable Object class without a migration causes a warning in development", async (t) => {
  const project = await read(t, { durable_objects: { bindings: [{ name: "C", class_name: "Counter" }] } });
  assert.deepEqual(
    project.warnings.map(({ message }) => message),
    ['no entry in "migrations" creates the class "Counter"'],
  );
  const { namespaces } = localObjects(project)!;
  assert.deepEqual(
    namespaces.map(({ className, sqlite }) => [className, sqlite]),
    [["Counter", false]],
  );
});

/** Invalid fields, and the expected error messages. */
const REFUSED: [fields: object, message: RegExp][] = [
  [{ tail_consumers: [{ service: "a b" }] }, /"tail_consumers\[0\].service" is not a worker name/],
  [{ routes: ["a.example/*.jpg"] }, /route pattern "a.example\/\*.jpg" is invalid: a wildcard in the path/],
  [{ routes: [{ pattern: "*.a.example", custom_domain: true }] }, /custom domain "\*.a.example" is not a host name/],
  [{ secrets_store_secrets: [{ binding: "A", store_id: "s" }] }, /secret_name/],
  [
    {
      migrations: [
        { tag: "v1", new_classes: ["A"] },
        { tag: "v1", deleted_classes: ["A"] },
      ],
    },
    /two entries in "migrations" have the tag "v1"/,
  ],
  [
    { migrations: [{ tag: "v1", transferred_classes: [{ from: "A", from_script: "w", to: "A" }] }] },
    /"migrations\[0\].transferred_classes" is not supported[^]*reelpost cannot transfer classes/,
  ],
  [
    { exports: { A: { type: "durable-object", storage: "sqlite" } } },
    /"exports" declares the Durable Object class "A"/,
  ],
  [{ durable_objects: { bindings: [{ name: "A", class_name: "no class" }] } }, /is not the name of an exported class/],
  [{ version_metadata: { binding: "no name" } }, /"version_metadata.binding" is not a JavaScript name/],
  [{ version_metadata: { binding: "A" }, vars: { A: "a" } }, /duplicate name "A"/],
  [
    { ratelimits: [{ name: "A", namespace_id: "x", simple: { limit: 0, period: 30 } }] },
    /"ratelimits\[0\].namespace_id" is not a string with a positive integer: "x"[^]*simple\.limit[^]*simple\.period/,
  ],
  [
    { services: [{ binding: "A", service: "a", environment: "staging" }] },
    /"services\[0\].environment" should be one of "production", but is "staging"[^]*specify the worker of the environment in "service"/,
  ],
];

for (const [fields, message] of REFUSED)
  test(`rejects ${JSON.stringify(fields)}`, async (t) => {
    const error = await read(t, fields).then(
      () => assert.fail("the configuration was accepted"),
      (thrown: unknown) => messageOf(thrown),
    );
    assert.match(error, message);
  });
