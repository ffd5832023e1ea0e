import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import * as fc from "fast-check";
import { parseDocument, formatProblems } from "./config/index.ts";
import { UserError } from "./errors.ts";
import { settingsExample, settingsPage } from "./settings-docs.ts";
import { fromVariable, settingFields } from "./settings-fields.ts";
import { readSettings } from "./settings-read.ts";
import { settingsSchema } from "./settings.ts";

async function folder(t: TestContext, files: Record<string, string> = {}) {
  const path = await mkdtemp(join(tmpdir(), "reelpost-settings-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

test("uses the defaults without any settings", async (t) => {
  const cwd = await folder(t);
  const { settings, warnings } = await readSettings({ cwd, env: { PATH: "/bin" } });
  assert.deepEqual(
    [
      settings.data_dir,
      settings.http.host,
      settings.http.port,
      settings.smtp.port,
      settings.workers.cpu_ms,
      settings.egress.deny_ports,
      warnings,
    ],
    [join(cwd, ".reelpost"), "127.0.0.1", 8787, 2525, 30_000, [25], []],
  );
});

test("the command line overrides the environment, and the environment overrides the file", async (t) => {
  const cwd = await folder(t, {
    "s.jsonc": `{ "data_dir": "data", "http": { "port": 1, "host": "::1" }, "smtp": { "port": 1 }, "workers": { "cpu_ms": 1 } }`,
    "s.toml": `data_dir = "data"\n[http]\nport = 1\n`,
  });
  const env = {
    REELPOST_HTTP_PORT: "2",
    REELPOST_SMTP_PORT: "2",
    REELPOST_EGRESS_ALLOW: "10.0.0.1, 10.0.0.0/8",
    REELPOST_EGRESS_DENY_PORTS: "25,465",
    REELPOST_EGRESS_ALLOW_PRIVATE: "yes",
  };
  const { settings } = await readSettings({ cwd, file: "s.jsonc", env, overrides: { smtp: { port: 3 } } });
  assert.deepEqual([settings.http.host, settings.http.port], ["::1", 2]);
  assert.deepEqual([settings.smtp.port, settings.workers.cpu_ms, settings.workers.heap_mb], [3, 1, 128]);
  assert.deepEqual(settings.egress, {
    allow_loopback: false,
    allow_private: true,
    deny_ports: [25, 465],
    allow: ["10.0.0.1", "10.0.0.0/8"],
  });
  assert.equal(settings.data_dir, join(cwd, "data"));
  assert.equal(
    (await readSettings({ cwd: "/", file: join(cwd, "s.toml"), env: {} })).settings.data_dir,
    join(cwd, "data"),
  );
  assert.equal(
    (await readSettings({ cwd: "/", file: join(cwd, "s.toml"), env: { REELPOST_DATA_DIR: "d" } })).settings.data_dir,
    "/d",
  );
});

test("reports all problems in file and environment together", async (t) => {
  const cwd = await folder(t, {
    "s.jsonc": `{\n  "http": { "port": "80", "hots": "x" },\n  "log": { "level": "loud" },\n  "workers": { "cpu_ms": 0 }\n}`,
  });
  const error = await readSettings({
    cwd,
    file: "s.jsonc",
    env: { REELPOST_SMTP_PORT: "many", REELPOST_EGRESS_ALLOW_PRIVATE: "maybe", REELPOST_HTTP_POTR: "1" },
  }).then(
    () => assert.fail("the settings were accepted"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UserError);
  assert.equal(
    error.message,
    `Invalid settings: 5 errors and 2 warnings

s.jsonc:2:21: error: "http.port" should be a number, but is the string "80"
  fix: for example 8787
s.jsonc:2:27: warning: unknown field "http.hots"; it is ignored
  fix: did you mean "host"?
s.jsonc:3:21: error: "log.level" should be one of "trace", "debug", "info", "warn", "error", "fatal", "silent", but is "loud"
  fix: for example "info"
s.jsonc:4:26: error: "workers.cpu_ms" should be at least 1, but is 0
  fix: for example 30000
environment variable REELPOST_EGRESS_ALLOW_PRIVATE: error: "egress.allow_private" should be true or false, but is the string "maybe"
  fix: for example false
environment variable REELPOST_HTTP_POTR: warning: unknown setting; it is ignored
  fix: did you mean REELPOST_HTTP_PORT?
environment variable REELPOST_SMTP_PORT: error: "smtp.port" should be a number, but is the string "many"
  fix: for example 2525`,
  );
  await assert.rejects(
    readSettings({ cwd, file: "none.jsonc", env: {} }),
    /Cannot read the settings file .*none\.jsonc: ENOENT/,
  );
  const { warnings } = await readSettings({ cwd, env: { REELPOST_NOTHING: "1" } });
  assert.equal(
    formatProblems(warnings),
    "environment variable REELPOST_NOTHING: warning: unknown setting; it is ignored",
  );
});

test("every setting has a description, a valid example and a unique variable", () => {
  const fields = settingFields();
  assert.ok(fields.length > 15);
  assert.equal(new Set(fields.map(({ variable }) => variable)).size, fields.length);
  for (const { path, description, example } of fields) {
    assert.ok(description.length > 10 && !description.endsWith("."), path.join("."));
    const value = path.toReversed().reduce<unknown>((inner, name) => ({ [name]: inner }), example);
    assert.ok(settingsSchema.safeParse(value).success, `${path.join(".")} ${JSON.stringify(example)}`);
  }
});

test("the generated example is valid and changes no setting, and the page contains every setting", () => {
  const document = parseDocument("example.jsonc", settingsExample());
  assert.deepEqual(document.problems, []);
  assert.deepEqual(settingsSchema.parse(document.value), settingsSchema.parse({}));
  const page = settingsPage();
  for (const { path, variable } of settingFields()) {
    assert.ok(page.includes(`| \`${path.join(".")}\` |`) && page.includes(variable));
    assert.ok(settingsExample().includes(variable));
  }
  assert.match(page, /^\| `http\.port` \| TCP port; 0 selects a free one\. \| `8787` \| `REELPOST_HTTP_PORT` \|$/m);
});

test("reads back a value from the environment variable that it was written to", () => {
  fc.assert(
    fc.property(fc.integer(), fc.boolean(), fc.array(fc.stringMatching(/^[^\s,]+$/)), (number, boolean, words) => {
      assert.equal(fromVariable({ kind: "number" }, ` ${number} `), number);
      assert.equal(fromVariable({ kind: "boolean" }, String(boolean).toUpperCase()), boolean);
      assert.deepEqual(fromVariable({ kind: "list of strings" }, words.join(", ")), words);
    }),
  );
  assert.deepEqual(
    ["", "1e3", "0x10", " "].map((text) => fromVariable({ kind: "number" }, text)),
    ["", "1e3", "0x10", ""],
  );
});

test("reports invalid addresses and ranges at their position", async (t) => {
  const cwd = await folder(t);
  for (const variable of [
    "REELPOST_HTTP_TRUSTED_PROXIES",
    "REELPOST_SMTP_PROXIES",
    "REELPOST_AUTHENTICATION_TRUSTED",
    "REELPOST_EGRESS_ALLOW",
  ]) {
    await readSettings({ cwd, env: { [variable]: "10.0.0.5,2001:db8::/32" } });
    await assert.rejects(
      readSettings({ cwd, env: { [variable]: "10.0.0.0/33" } }),
      /is neither an IP address nor a range/,
      variable,
    );
  }
});
