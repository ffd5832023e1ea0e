import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { folder, refusal } from "./read.testing.ts";

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
