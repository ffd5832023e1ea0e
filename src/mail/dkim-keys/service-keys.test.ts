import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite, parseKeys } from "../../store/index.ts";
import { mailMigrations } from "../migrations.ts";
import { createDkimKeys } from "./dkim-keys.ts";
import { createServiceKeys } from "./service-keys.ts";

const basics = { clock: systemClock, ids: randomIds, log: silentLog };
const settings = settingsSchema.parse({ email: { forward_domain: "Fwd.Example" } });
const secrets = createSecrets({ keys: parseKeys(Buffer.alloc(32, 7).toString("base64"), "test") });

async function openKeys(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-forwarding-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, mailMigrations);
  const events = createLocalEvents({ log: silentLog });
  t.after(async () => {
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => createDkimKeys({ ...basics, db, secrets, events });
}

test("creates the keys once and signs with them in every process", async (t) => {
  const open = await openKeys(t);
  const [one, two] = [createServiceKeys(settings, open()), createServiceKeys(settings, open())];
  const [first, second] = await Promise.all([one.keys(), two.keys()]);
  assert.deepEqual(
    first.map(({ domain, selector, algorithm }) => [domain, selector, algorithm]),
    [["fwd.example", "reelpost-forward", "rsa"]],
  );
  assert.deepEqual(second, first);
  const records = await two.records();
  assert.deepEqual(
    records.map(({ selector }) => selector),
    ["reelpost-forward"],
  );
  assert.match(records[0]!.text, /^v=DKIM1; h=sha256; k=rsa; p=[A-Za-z0-9+/=]+$/);
});
