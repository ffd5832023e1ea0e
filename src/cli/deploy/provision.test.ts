import assert from "node:assert/strict";
import { test } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi, type Reply, type Scope, type SeenRequest } from "../cli.testing.ts";

const BASE = `/accounts/${ACCOUNT}`;
const SCRIPT = `${BASE}/workers/scripts/letters`;
const files = {
  "wrangler.json": JSON.stringify({
    name: "letters",
    main: "index.js",
    compatibility_date: "2026-10-01",
    kv_namespaces: [{ binding: "NOTES" }],
    r2_buckets: [{ binding: "MY_FILES" }],
    d1_databases: [{ binding: "DB", database_name: "mail" }],
    queues: { producers: [{ binding: "JOBS" }] },
  }),
  "index.js": "export default { fetch: () => new Response('hi') }",
};
const NO_WORKER: Reply = { status: 404, errors: [{ code: 10007, message: "This Worker does not exist." }] };
const NO_BUCKET: Reply = { status: 404, errors: [{ code: 10006, message: "The specified bucket does not exist." }] };

const start = (t: Scope, moreReplies: Record<string, Reply>) =>
  startFakeApi(t, {
    [`GET ${SCRIPT}/secrets`]: NO_WORKER,
    [`PUT ${SCRIPT}`]: { result: { deployment_id: "v1", startup_time_ms: 1 } },
    [`POST ${SCRIPT}/subdomain`]: { result: { enabled: true } },
    [`GET ${BASE}/workers/workers/letters`]: { result: { subdomain: { enabled: true } } },
    [`GET ${BASE}/storage/kv/namespaces`]: { result: [{ id: "kv-other", title: "other" }] },
    [`GET ${BASE}/d1/database`]: { result: [] },
    [`GET ${BASE}/queues`]: { result: [] },
    [`GET ${BASE}/r2/buckets/letters-my-files`]: NO_BUCKET,
    [`POST ${BASE}/storage/kv/namespaces`]: { result: { id: "kv-new" } },
    [`POST ${BASE}/r2/buckets`]: { result: { name: "letters-my-files" } },
    [`POST ${BASE}/d1/database`]: { result: { uuid: "d1-new" } },
    [`POST ${BASE}/queues`]: { result: { queue_id: "q" } },
    ...moreReplies,
  });

const bindingsOf = async (upload: SeenRequest) => {
  const form = await new Response(new Uint8Array(upload.body), {
    headers: { "content-type": upload.headers["content-type"]! },
  }).formData();
  return (JSON.parse(form.get("metadata") as string) as { bindings: unknown[] }).bindings;
};

test("the first deploy creates resources without an id, named after the worker and the binding", async (t) => {
  const api = await start(t, {});
  const cwd = await folderWith(t, files);
  const ran = await runCli(["deploy", "--json"], { cwd, api });
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(
    ["storage/kv/namespaces", "r2/buckets", "d1/database", "queues"].map((path) => api.bodies(`POST ${BASE}/${path}`)),
    [
      [{ title: "letters-notes" }],
      [{ name: "letters-my-files" }],
      [{ name: "mail" }],
      [{ queue_name: "letters-jobs" }],
    ],
  );
  assert.deepEqual(await bindingsOf(api.seen.find(({ method }) => method === "PUT")!), [
    { type: "kv_namespace", name: "NOTES", namespace_id: "kv-new" },
    { type: "r2_bucket", name: "MY_FILES", bucket_name: "letters-my-files" },
    { type: "d1", name: "DB", id: "d1-new" },
    { type: "queue", name: "JOBS", queue_name: "letters-jobs" },
  ]);
  assert.deepEqual(ran.json.created, [
    { binding: "NOTES", type: "kv_namespace", name: "letters-notes", id: "kv-new" },
    { binding: "MY_FILES", type: "r2_bucket", name: "letters-my-files", id: "letters-my-files" },
    { binding: "DB", type: "d1", name: "mail", id: "d1-new" },
    { binding: "JOBS", type: "queue", name: "letters-jobs", id: "letters-jobs" },
  ]);
  const { stdout } = await runCli(["deploy"], { cwd, api });
  assert.match(
    stdout,
    /created +KV namespace letters-notes, R2 bucket letters-my-files, D1 database mail, queue letters-jobs/,
  );
});

test("a deploy that follows a failed one uses the resources that the failed one created", async (t) => {
  const api = await start(t, {
    [`GET ${BASE}/storage/kv/namespaces`]: { result: [{ id: "kv-1", title: "letters-notes" }] },
    [`GET ${BASE}/d1/database`]: {
      result: [
        { uuid: "d1-2", name: "mail2" },
        { uuid: "d1-1", name: "mail" },
      ],
    },
    [`GET ${BASE}/queues`]: { result: [{ queue_name: "letters-jobs" }] },
    [`GET ${BASE}/r2/buckets/letters-my-files`]: { result: { name: "letters-my-files" } },
  });
  const ran = await runCli(["deploy", "--json"], { cwd: await folderWith(t, files), api });
  assert.equal(ran.code, 0, ran.stderr);
  assert.ok(!api.calls().some((call) => call.startsWith("POST") && !call.endsWith("/subdomain")), api.calls().join());
  assert.deepEqual(
    (await bindingsOf(api.seen.find(({ method }) => method === "PUT")!)).map(
      (binding) => Object.values(binding as object)[2],
    ),
    ["kv-1", "letters-my-files", "d1-1", "letters-jobs"],
  );
});

test("a later deploy keeps the worker's resources even if their names differ", async (t) => {
  const api = await start(t, {
    [`GET ${SCRIPT}/secrets`]: { result: [] },
    [`GET ${SCRIPT}/settings`]: {
      result: {
        bindings: [
          { type: "kv_namespace", name: "NOTES", namespace_id: "kv-used" },
          { type: "r2_bucket", name: "MY_FILES", bucket_name: "used-files" },
          { type: "d1", name: "DB", id: "d1-used" },
          { type: "queue", name: "JOBS", queue_name: "used-jobs" },
        ],
      },
    },
    [`GET ${BASE}/d1/database`]: { result: [{ uuid: "d1-used", name: "mail" }] },
  });
  const ran = await runCli(["deploy", "--json"], { cwd: await folderWith(t, files), api });
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(
    (await bindingsOf(api.seen.find(({ method }) => method === "PUT")!)).map(
      (binding) => Object.values(binding as object)[2],
    ),
    ["kv-used", "used-files", "d1-used", "used-jobs"],
  );
  assert.equal(ran.json.created, undefined);
});

test("creates a configured bucket that does not exist, or sends its name if it may not read buckets", async (t) => {
  const namedBuckets = {
    ...files,
    "wrangler.json": JSON.stringify({
      name: "letters",
      main: "index.js",
      compatibility_date: "2026-10-01",
      r2_buckets: [
        { binding: "A", bucket_name: "letters-my-files" },
        { binding: "B", bucket_name: "hidden" },
      ],
    }),
  };
  const api = await start(t, {
    [`GET ${BASE}/r2/buckets/hidden`]: { status: 403, errors: [{ code: 9109, message: "Unauthorized" }] },
  });
  const ran = await runCli(["deploy", "--json"], { cwd: await folderWith(t, namedBuckets), api });
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(api.bodies(`POST ${BASE}/r2/buckets`), [{ name: "letters-my-files" }]);
  assert.equal(ran.json.created.length, 1);
});
