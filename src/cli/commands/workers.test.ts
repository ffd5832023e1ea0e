import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import { loginFile } from "../api/login-file.ts";
import { ACCOUNT, TOKEN, folderWith, runCli, startFakeApi } from "../cli.testing.ts";

const SCRIPT = `/accounts/${ACCOUNT}/workers/scripts/letters`;
const configuration = { "wrangler.json": JSON.stringify({ name: "letters", env: { staging: {} } }) };
const version = (number: number, message?: string) => ({
  id: `v${number}`,
  number,
  metadata: { created_on: `2026-11-0${number}T10:00:00.000Z`, author_email: "ada@example.com" },
  annotations: message === undefined ? {} : { "workers/message": message },
  resources: { bindings: [], script: { handlers: ["fetch"] }, script_runtime: {} },
});
const deployment = (number: number) => ({
  id: `d${number}`,
  created_on: `2026-11-0${number}T10:00:00.000Z`,
  author_email: "ada@example.com",
  annotations: {},
  versions: [{ version_id: `v${number}`, percentage: 100 }],
});

test("secret put reads standard input without the final line break, or prompts without echo", async (t) => {
  const api = await startFakeApi(t, { [`PUT ${SCRIPT}/secrets`]: { result: { name: "KEY", type: "secret_text" } } });
  const cwd = await folderWith(t, configuration);
  for (const stdin of ["two\nlines\r\n", "plain", "\n"])
    assert.equal((await runCli(["secret", "put", "KEY"], { cwd, api, stdin })).code, 0);
  const typed = await runCli(["secret", "put", "KEY"], { cwd, api, typed: ["s3cx\u007Fret\r"] });
  assert.deepEqual(
    api.bodies(`PUT ${SCRIPT}/secrets`).map((body) => (body as { text: string }).text),
    ["two\nlines", "plain", "", "s3cret"],
  );
  assert.deepEqual([typed.stdout, typed.stderr], ["Set the secret KEY of letters\n", "Value of KEY: \n"]);
  const left = await runCli(["secret", "put", "KEY"], { cwd, api, typed: ["abc\u0003"] });
  assert.deepEqual([left.code, left.stderr], [1, "Value of KEY: \nerror: Cancelled. Nothing was changed.\n"]);
});

test("secret list, delete and bulk treat an environment as a separate worker", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${SCRIPT}/secrets`]: { result: [{ name: "A", type: "secret_text" }] },
    [`DELETE ${SCRIPT}-staging/secrets/A%2FB`]: { result: null },
    [`PATCH ${SCRIPT}/secrets-bulk`]: { result: {} },
  });
  const cwd = await folderWith(t, { ...configuration, "s.json": '{"A":"1","B":null}', "bad.json": '{"A":1}' });
  assert.equal((await runCli(["secret", "list"], { cwd, api })).stdout, "A\n");
  assert.deepEqual((await runCli(["secret", "list", "--json"], { cwd, api })).json, [
    { name: "A", type: "secret_text" },
  ]);
  assert.equal((await runCli(["secret", "delete", "A/B", "--env", "staging"], { cwd, api })).code, 0);
  assert.deepEqual((await runCli(["secret", "bulk", "s.json", "--json"], { cwd, api })).json, {
    worker: "letters",
    put: ["A"],
    deleted: ["B"],
  });
  assert.deepEqual(api.bodies(`PATCH ${SCRIPT}/secrets-bulk`), [
    { secrets: { A: { name: "A", text: "1", type: "secret_text" }, B: null } },
  ]);
  assert.match(
    (await runCli(["secret", "bulk", "bad.json"], { cwd, api })).stderr,
    /bad\.json: the value of A is not a string/,
  );
  assert.match(
    (await runCli(["secret", "bulk", "-"], { cwd, api, stdin: "{" })).stderr,
    /standard input is not valid JSON/,
  );
});

test("lists versions and deployments, and shows the live deployment with its versions", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${SCRIPT}/versions`]: {
      result: { items: [version(2, "line\nbreak"), version(1)] },
      result_info: { page: 1, per_page: 100, total_count: 2 },
    },
    [`GET ${SCRIPT}/versions/v2`]: { result: version(2, "hi") },
    [`GET ${SCRIPT}/deployments`]: { result: { deployments: [deployment(2), deployment(1)] } },
  });
  const cwd = await folderWith(t, configuration);
  assert.equal(
    (await runCli(["versions", "list"], { cwd, api })).stdout,
    `version  number  created                  by               message
v2       2       2026-11-02 10:00:00 UTC  ada@example.com  line break
v1       1       2026-11-01 10:00:00 UTC  ada@example.com
`,
  );
  assert.equal((await runCli(["deployments", "list", "--json"], { cwd, api })).json.length, 2);
  assert.match(
    (await runCli(["deployments", "list"], { cwd, api })).stdout,
    /^since .*\n2026-11-02 10:00:00 UTC {2}live {2}v2 .*\n2026-11-01/,
  );
  assert.equal(
    (await runCli(["deployments", "status"], { cwd, api })).stdout,
    "worker      letters\nlive since  2026-11-02 10:00:00 UTC, by ada@example.com\n100%        v2  version 2, created 2026-11-02 10:00:00 UTC  hi\n",
  );
  assert.equal((await runCli(["versions", "view", "v2", "--json"], { cwd, api })).json.id, "v2");
});

test("rollback deploys the previous version after confirmation, and changes nothing without a terminal", async (t) => {
  const api = await startFakeApi(t, {
    [`GET ${SCRIPT}/deployments`]: {
      result: { deployments: [deployment(3), { ...deployment(3), id: "again" }, deployment(2), deployment(1)] },
    },
    [`GET ${SCRIPT}/versions/v2`]: { result: version(2, "good") },
    [`GET ${SCRIPT}/versions/v1`]: { result: version(1) },
    [`POST ${SCRIPT}/deployments`]: { result: { id: "new" } },
  });
  const cwd = await folderWith(t, configuration);
  const alone = await runCli(["rollback"], { cwd, api });
  assert.deepEqual(
    [alone.code, alone.stderr],
    [
      1,
      'error: Deploy version 2 of letters (v2, created 2026-11-02 10:00:00 UTC "good") in place of v3? Cannot prompt: stdin is not a terminal.\nfix: Pass --yes to confirm.\n',
    ],
  );
  const no = await runCli(["rollback"], { cwd, api, typed: ["n\n"] });
  assert.deepEqual([no.code, /Cancelled\. Nothing was changed\./.test(no.stderr)], [1, true]);
  assert.equal(api.calls().includes(`POST ${SCRIPT}/deployments`), false);
  assert.equal((await runCli(["rollback"], { cwd, api, typed: ["y\n"] })).stdout, "letters now runs version 2 (v2)\n");
  assert.equal(
    (await runCli(["rollback", "v1", "--yes", "-m", "undo", "--json"], { cwd, api })).json.deployment_id,
    "new",
  );
  assert.deepEqual(
    api.bodies(`POST ${SCRIPT}/deployments`),
    [
      ["v2", "rollback"],
      ["v1", "undo"],
    ].map(([id, message]) => ({
      strategy: "percentage",
      versions: [{ version_id: id, percentage: 100 }],
      annotations: { "workers/message": message },
    })),
  );
});

test("delete asks for confirmation and takes the name from an argument or the configuration", async (t) => {
  const api = await startFakeApi(t, {
    [`DELETE ${SCRIPT}`]: { result: null },
    [`DELETE /accounts/${ACCOUNT}/workers/scripts/other`]: { result: null },
  });
  const cwd = await folderWith(t, configuration);
  assert.equal((await runCli(["delete"], { cwd, api })).code, 1);
  assert.equal((await runCli(["delete", "--yes"], { cwd, api })).stdout, "Deleted letters\n");
  assert.deepEqual((await runCli(["delete", "other", "--yes", "--json"], { cwd, api })).json, {
    worker: "other",
    deleted: true,
  });
  const nowhere = await runCli(["secret", "list", "--json"], { cwd: await folderWith(t), api });
  assert.equal(nowhere.json.error.code, "E_WORKER_UNNAMED");
});

test("login verifies and stores the token for later commands, and logout removes it", async (t) => {
  const accounts = [{ id: ACCOUNT, name: "Main" }];
  const api = await startFakeApi(t, {
    "GET /user/tokens/verify": ({ headers }) =>
      headers.authorization === `Bearer ${TOKEN}`
        ? { result: { id: "t", status: "active" } }
        : { status: 401, errors: [{ code: 10000, message: "Authentication error" }] },
    "GET /accounts": { result: accounts, result_info: { page: 1, per_page: 50, total_count: 1 } },
    "GET /user": { status: 403, errors: [{ code: 9109, message: "Unauthorized" }] },
    [`GET ${SCRIPT}/secrets`]: { result: [] },
  });
  const cwd = await folderWith(t, configuration);
  const file = loginFile({ HOME: cwd });
  const bare = { cwd, env: { API_BASE_URL: "", API_TOKEN: "" } };
  const wrong = await runCli(["login", "--url", api.url, "--token", "nonsense"], bare);
  assert.deepEqual([wrong.code, wrong.stderr.split("\n")[0]], [1, "error: Authentication error [code: 10000]"]);
  await assert.rejects(stat(file));
  const prompted = await runCli(["login"], {
    ...bare,
    typed: [`${api.url.replace("/client/v4", "")}\n`, `${TOKEN}\r`],
  });
  assert.deepEqual(
    [prompted.code, prompted.stdout],
    [0, `Logged in to ${api.url}\n  account ${ACCOUNT}  Main\nStored in ${file}\n`],
    prompted.stderr,
  );
  assert.ok(!prompted.stderr.includes(TOKEN));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await runCli(["secret", "list"], bare)).stdout, "letters has no secrets\n");
  assert.deepEqual((await runCli(["whoami", "--json"], bare)).json, {
    url: api.url,
    user: null,
    token: { id: "t", status: "active" },
    account: null,
    accounts,
  });
  assert.equal((await runCli(["logout", "--json"], bare)).json.logged_out, true);
  const out = await runCli(["whoami"], { cwd, env: { API_BASE_URL: api.url } });
  assert.deepEqual(
    [out.code, out.stderr],
    [1, `error: No API token for ${api.url}.\nfix: Run \`reelpost login\`, or set API_TOKEN.\n`],
  );
});

test("selects the only account automatically, and lists multiple accounts in the error", async (t) => {
  const listed = [
    { id: "b".repeat(32), name: "One" },
    { id: "c".repeat(32), name: "Two\u001B[2J" },
  ];
  const api = await startFakeApi(t, {
    "GET /accounts": { result: listed, result_info: { page: 1, per_page: 50, total_count: 2 } },
  });
  const cwd = await folderWith(t, configuration);
  const several = await runCli(["secret", "list"], { cwd, api, env: { ACCOUNT_ID: "" } });
  assert.equal(
    several.stderr,
    `error: The API token has access to several accounts:\n  ${listed[0]!.id}  One\n  ${listed[1]!.id}  Two\\x1b[2J\nfix: Select one with --account, ACCOUNT_ID or account_id in the configuration.\n`,
  );
});

test("a token is created with the permissions for deploying, each for its own resource type", async (t) => {
  const scopes = {
    account: ["com.cloudflare.api.account"],
    zone: ["com.cloudflare.api.account.zone"],
    user: ["com.cloudflare.api.user"],
  };
  const groups = [
    "Account Settings Read",
    "Workers Scripts Write",
    "Workers Tail Read",
    "Workers KV Storage Write",
    "Workers R2 Storage Write",
    "D1 Write",
  ].map((name, i) => ({ id: `g${i}`, name, scopes: scopes.account }));
  const api = await startFakeApi(t, {
    "GET /user/tokens/permission_groups": {
      result: [
        ...groups,
        { id: "z", name: "DNS Write", scopes: scopes.zone },
        { id: "u", name: "API Tokens Read", scopes: scopes.user },
      ],
    },
    "GET /user": { result: { id: "me" } },
    "POST /user/tokens": { result: { id: "t", name: "ci", value: "the-value" } },
  });
  const cwd = await folderWith(t);
  const made = await runCli(["token", "create", "ci"], { cwd, api });
  assert.match(made.stdout, /^token +the-value\n/);
  await runCli(
    [
      "token",
      "create",
      "dns",
      "--permission",
      "dns write",
      "--permission",
      "API Tokens Read",
      "--expires",
      "2027-01-31",
    ],
    { cwd, api },
  );
  const wide = await runCli(["token", "create", "x", "--permission", "DNS Wrte"], { cwd, api });
  assert.match(wide.stderr, /Did you mean "DNS Write"\?/);
  const account = `com.cloudflare.api.account.${ACCOUNT}`;
  assert.deepEqual(api.bodies("POST /user/tokens"), [
    {
      name: "ci",
      policies: [
        { effect: "allow", resources: { [account]: "*" }, permission_groups: groups.map(({ id }) => ({ id })) },
      ],
    },
    {
      name: "dns",
      policies: [
        {
          effect: "allow",
          resources: { [account]: { "com.cloudflare.api.account.zone.*": "*" } },
          permission_groups: [{ id: "z" }],
        },
        { effect: "allow", resources: { "com.cloudflare.api.user.me": "*" }, permission_groups: [{ id: "u" }] },
      ],
      expires_on: "2027-01-31T00:00:00Z",
    },
  ]);
});
