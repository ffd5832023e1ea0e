import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { formatProblems } from "../../../kernel/config/index.ts";
import { createBundler } from "../bundle/bundler.ts";
import { readProject } from "../config/read.ts";
import { explainException } from "./explain.ts";
import { inspectProject } from "./inspect.ts";

const TYPES = {
  "node_modules/@cloudflare/workers-types/package.json": "{}",
  "tsconfig.json": `{ "compilerOptions": { "types": ["@cloudflare/workers-types"] } }`,
};

async function inspect(t: TestContext, files: Record<string, string>, config: object = {}) {
  const root = await mkdtemp(join(tmpdir(), "reelpost-inspect-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({
    "wrangler.jsonc": JSON.stringify({ name: "w", main: "src/index.ts", compatibility_date: "2026-10-01", ...config }),
    ...files,
  })) {
    if (text === "") continue;
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  const project = await readProject({ cwd: root, clock: createManualClock(Date.parse("2026-11-20")) });
  const bundler = createBundler(project);
  t.after(() => bundler.close());
  const { warnings, unknownBindings } = await inspectProject(project, await bundler.build());
  return { project, unknownBindings, report: formatProblems(warnings, { cwd: root }) };
}

const SOURCE = `import { note } from "./note";
export default {
  async email(message: any, env: any) {
    await env.MAIL.send(message);
    await env.MAIL.send(message);
    note(env);
    env.SEB.send(message);
  },
};`;
const NOTE = `export const note = (env: any) => { env.NOTES.put("a", "b"); env.MAIL_BUCKET.put("a", "b"); env.DB.prepare("x"); env.API_TOKEN.length; };`;

test("reports undeclared names with their position, the nearest name, and the required declaration", async (t) => {
  const { report } = await inspect(
    t,
    { ...TYPES, "src/index.ts": SOURCE, "src/note.ts": NOTE },
    { send_email: [{ name: "SEB" }], kv_namespaces: [{ binding: "NOTE", id: "n" }] },
  );
  assert.equal(
    report,
    `src/index.ts:4:11: warning: Binding not found: the code reads env.MAIL, here and in 1 other place, but the configuration does not declare "MAIL"
  fix: add to wrangler.jsonc:
       "send_email": [{ "name": "MAIL" }]
src/note.ts:1:37: warning: Binding not found: the code reads env.NOTES, but the configuration does not declare "NOTES"
  fix: did you mean env.NOTE? Otherwise add to wrangler.jsonc:
       "kv_namespaces": [{ "binding": "NOTES", "id": "notes" }]
src/note.ts:1:62: warning: Binding not found: the code reads env.MAIL_BUCKET, but the configuration does not declare "MAIL_BUCKET"
  fix: add to wrangler.jsonc:
       "r2_buckets": [{ "binding": "MAIL_BUCKET", "bucket_name": "mail-bucket" }]
src/note.ts:1:93: warning: Binding not found: the code reads env.DB, but the configuration does not declare "DB"
  fix: add to wrangler.jsonc:
       "d1_databases": [{ "binding": "DB", "database_id": "db" }]
src/note.ts:1:114: warning: Binding not found: the code reads env.API_TOKEN, but the configuration does not declare "API_TOKEN"
  fix: add to "vars" in wrangler.jsonc: "API_TOKEN": "…"; or, for a secret, to .dev.vars: API_TOKEN=…`,
  );
});

test("an undeclared Durable Object namespace is recognized by its methods", async (t) => {
  const source = `export default { fetch: (request: any, env: any) => env.CHAT_ROOM.getByName("a").fetch(request) };`;
  const { report } = await inspect(t, { ...TYPES, "src/index.ts": source });
  assert.match(report, /"durable_objects": \{ "bindings": \[\{ "name": "CHAT_ROOM", "class_name": "ChatRoom" \}\] \}/);
});

test("the explanation of an exception for a missing binding includes its name", async (t) => {
  const { project, unknownBindings } = await inspect(
    t,
    { ...TYPES, "src/index.ts": SOURCE, "src/note.ts": NOTE },
    { send_email: [{ name: "SEB" }] },
  );
  const explain = (message: string, stack = "") =>
    explainException({ name: "TypeError", message, stack }, project, unknownBindings);
  const expected =
    'Binding not found: src/index.ts:4 reads env.MAIL, but the configuration does not declare "MAIL".\nFix: add to wrangler.jsonc:\n"send_email": [{ "name": "MAIL" }]';
  assert.equal(explain("Cannot read properties of undefined (reading 'send')"), expected);
  assert.match(
    explain(
      "Cannot read properties of undefined (reading 'send')",
      "TypeError: x\n    at Object.email (src/index.ts:5:20)\n",
    )!,
    /^Binding not found: src\/index\.ts:5 reads env\.MAIL/,
  );
  // put() is called on both NOTES and MAIL_BUCKET: without the position it could be either.
  assert.equal(explain("Cannot read properties of undefined (reading 'put')"), undefined);
  assert.match(
    explain("Cannot read properties of undefined (reading 'put')", "TypeError: x\n    at note (src/note.ts:1:47)\n")!,
    /env\.NOTES/,
  );
  assert.equal(explain("Cannot read properties of undefined (reading 'subject')"), undefined);
  assert.equal(explain("boom"), undefined);
  assert.match(
    explain("destination address is invalid", "Error: x\n    at async Object.email (src/index.ts:4:5)\n")!,
    /^Binding not found: src\/index\.ts:4 reads env\.MAIL/,
  );
  assert.match(
    explain("destination address is invalid", "Error: x\n    at async Object.email (src/index.ts:7:5)\n")!,
    /^Invalid destination/,
  );
});

test("documented exceptions are explained with a fix", async (t) => {
  const { project } = await inspect(
    t,
    { "src/index.ts": "export default {}", ...TYPES },
    { compatibility_date: "2025-01-01" },
  );
  const explain = (message: string) => explainException({ name: "Error", message }, project);
  assert.equal(
    explain("destination address not verified"),
    "Invalid destination: mail can be sent only to verified addresses.\nFix: Verify it in Email Routing, or list it under reelpost.verified_addresses in wrangler.jsonc.",
  );
  assert.match(explain("email to a@example.com not allowed")!, /allowed_destination_addresses/);
  assert.match(explain("email from a@example.com not allowed")!, /allowed_sender_addresses/);
  assert.match(explain('No such module "node:fs".')!, /without Node compatibility\.\nFix: Add "nodejs_compat"/);
  assert.match(explain("Buffer is not defined")!, /nodejs_compat/);
});

test("reports a binding read without env", async (t) => {
  const { project } = await inspect(
    t,
    { ...TYPES, "src/index.ts": "export default {}" },
    { send_email: [{ name: "SEB" }] },
  );
  const explain = (message: string) => explainException({ name: "ReferenceError", message }, project);
  assert.equal(
    explain("SEB is not defined"),
    "SEB is a binding, which must be read from the environment.\nFix: Use env.SEB.",
  );
  assert.equal(explain("OTHER is not defined"), undefined);
});

test("reports type definitions that are not installed or not listed, unless they are not needed", async (t) => {
  const index = { "src/index.ts": "export default {}" };
  const reports = [
    await inspect(t, { ...index, "tsconfig.json": `{\n  "compilerOptions": { "strict": true }\n}` }),
    await inspect(t, { ...index }),
    await inspect(t, {
      ...index,
      ...TYPES,
      "tsconfig.json": `{ "extends": "./base.json" }`,
      "base.json": TYPES["tsconfig.json"],
    }),
    await inspect(t, { ...index, ...TYPES }),
    await inspect(t, {
      ...index,
      "tsconfig.json": "{}",
      "worker-configuration.d.ts": "interface ForwardableEmailMessage {}",
    }),
    await inspect(t, { "src/index.js": "export default {}" }, { main: "src/index.js" }),
    await inspect(t, {
      ...index,
      "tsconfig.json": `{ "compilerOptions": { "types": ["./worker-configuration.d.ts"] } }`,
    }),
  ].map(({ report }) => report);
  assert.deepEqual(reports, [
    `tsconfig.json: warning: the runtime's type definitions are missing: @cloudflare/workers-types is not installed
  fix: npm i -D @cloudflare/workers-types
tsconfig.json:2:3: warning: the runtime's type definitions are not used: "types" does not include @cloudflare/workers-types
  fix: add "types": ["@cloudflare/workers-types"] to "compilerOptions"`,
    "src/index.ts: warning: the runtime's type definitions are missing: editors and tsc cannot check the worker's APIs\n  fix: npm i -D @cloudflare/workers-types",
    "",
    "",
    "",
    "",
    `tsconfig.json: warning: the runtime's type definitions are missing: "types" names ./worker-configuration.d.ts, which does not contain them
  fix: npx wrangler types`,
  ]);
});

test("reports a missing handler with the worker's handlers and the one to add", async (t) => {
  const { project } = await inspect(t, { "src/index.ts": "export default { fetch() {} };" });
  const explain = (message: string) => explainException({ name: "Error", message }, project);
  assert.match(
    explain("Handler does not export a fetch() function.")!,
    /handles mail but no requests\.\nFix: .*async fetch\(request, env, ctx\)/,
  );
  assert.match(
    explain("Handler does not export an email() function")!,
    /handles requests but no mail\.\nFix: .*async email\(message, env, ctx\)/,
  );
  assert.equal(explain("Handler does not export a scheduled() function"), undefined);
});
