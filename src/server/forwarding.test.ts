import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createLifecycle, randomIds, silentLog, systemClock } from "../kernel/index.ts";
import { settingsSchema } from "../kernel/settings.ts";
import { createDkimKeys, createSpool, mailMigrations, type Resolver } from "../mail/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite, parseKeys } from "../store/index.ts";
import { composeAuthenticator, composeServiceKeys, composeSrs } from "./forwarding.ts";

const lifecycle = createLifecycle({ log: silentLog });
const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
const settings = settingsSchema.parse({
  email: { forward_domain: "Fwd.Example", mx: ["mx1.example"] },
  smtp: { name: "mx1.example" },
  authentication: { trusted: ["10.1.0.0/16"] },
});
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

test("the platform's own keys are made once, and every process signs with them", async (t) => {
  const open = await openKeys(t);
  const [one, two] = [
    composeServiceKeys(settings, { dkimKeys: open() }),
    composeServiceKeys(settings, { dkimKeys: open() }),
  ];
  const [first, second] = await Promise.all([one.keys(), two.keys()]);
  assert.deepEqual(
    first.map(({ domain, selector, algorithm }) => [domain, selector, algorithm]),
    [["fwd.example", "reelpost-forward", "rsa"]],
  );
  assert.deepEqual(second, first);
  const records = await two.records();
  assert.deepEqual(
    records.map(({ type, name }) => `${type} ${name}`),
    ["MX fwd.example", "TXT fwd.example", "TXT reelpost-forward._domainkey.fwd.example"],
  );
  assert.match(records[2]!.content, /^v=DKIM1; h=sha256; k=rsa; p=[A-Za-z0-9+/=]+$/);
});

test("senders come back to every process of the installation", () => {
  const [one, two] = [composeSrs(settings, secrets), composeSrs(settings, secrets)];
  const there = one.forward("a@sender.example", Date.now());
  assert.ok(there.ok);
  assert.deepEqual(two.reverse(there.address, Date.now()), { ok: true, address: "a@sender.example" });
});

test("strangers must show who they are; trusted peers are judged and let in", async (t) => {
  const resolver: Resolver = () => Promise.reject(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
  const authenticator = composeAuthenticator(settings, resolver, basics)!;
  t.after(() => lifecycle.stop());
  const source = createSpool({ dir: join(tmpdir(), "reelpost-never-made"), ids: randomIds }).hold(
    Buffer.from("From: a@sender.example\r\n\r\nhello\r\n"),
  );
  const judge = async (ip: string) => {
    const { accept, reply, spf } = await authenticator.check({ from: "a@sender.example", helo: "x", ip }, source);
    return [accept, reply?.code, spf.result];
  };
  assert.deepEqual(await judge("192.0.2.1"), [false, 550, "none"]);
  assert.deepEqual(await judge("10.1.2.3"), [true, undefined, "none"]);
  assert.deepEqual(await judge("::ffff:10.1.2.3"), [true, undefined, "none"]);
  assert.equal(
    composeAuthenticator(settingsSchema.parse({ authentication: { enabled: false } }), resolver, basics),
    undefined,
  );
  assert.throws(
    () => settingsSchema.parse({ authentication: { trusted: ["the office"] } }),
    /is neither an IP address nor a range/,
  );
});
