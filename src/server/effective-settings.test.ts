import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readSettings } from "../kernel/settings-read.ts";
import { effectiveSettings } from "./effective-settings.ts";

const SECRET = "very-secret";

test("lists each setting with its value and origin, without secrets", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-settings-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, "s.json"),
    JSON.stringify({ http: { port: 1 }, outbound: { smart_hosts: [`smtp://user:${SECRET}@mail.example`] } }),
  );
  const { settings, origins } = await readSettings({
    cwd: folder,
    file: "s.json",
    env: {
      REELPOST_HTTP_METRICS_TOKEN: SECRET,
      REELPOST_DATABASE_URL: `postgres://user:${SECRET}@db.example/x`,
      REELPOST_API_TOKEN: SECRET,
      REELPOST_SECRETS_KEY_FILE: "/keys",
      REELPOST_SMTP_PORT: "2",
    },
    overrides: { smtp: { port: 3 } },
  });
  const list = effectiveSettings(settings, origins);
  const of = (name: string) => {
    const { value, origin, secret } = list.find((one) => one.name === name)!;
    return [value, origin, secret];
  };
  assert.deepEqual(of("http.port"), [1, "file", false]);
  assert.deepEqual(of("smtp.port"), [3, "command line", false]);
  assert.deepEqual(of("dns.port"), [1053, "default", false]);
  assert.deepEqual(of("http.metrics_token"), [null, "environment", true]);
  assert.deepEqual(of("secrets.key"), ["", "default", true]);
  assert.deepEqual(of("secrets.key_file"), ["/keys", "environment", false]);
  assert.deepEqual(of("database.url"), ["postgres://…@db.example/x", "environment", false]);
  assert.deepEqual(of("outbound.smart_hosts"), [["smtp://…@mail.example"], "file", false]);
  assert.ok(!JSON.stringify(list.map(({ value }) => value)).includes(SECRET));
});
