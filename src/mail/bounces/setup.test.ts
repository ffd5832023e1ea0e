import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLifecycle, randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite, localSweeps } from "../../store/index.ts";
import { createSigner } from "../authenticate/index.ts";
import { createDkimKeys, createServiceKeys } from "../dkim-keys/index.ts";
import { setUpSrs } from "../forwarding/index.ts";
import type { Outbound } from "../messages/index.ts";
import { mailMigrations } from "../migrations.ts";
import { setUpBounces } from "./setup.ts";

test("uses the domains from the settings, and accepts return paths created by other processes with the same keys", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-returns-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const settings = settingsSchema.parse({
    smtp: { name: "mx1.example.com" },
    email: { forward_domain: "forward.example.com", sending_label: "bounces" },
  });
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, mailMigrations);
  const key = randomBytes(32);
  const queued: Outbound[] = [];

  function start() {
    const lifecycle = createLifecycle({ log: silentLog });
    const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
    const secrets = createSecrets({ keys: [key] });
    const srs = setUpSrs(settings, secrets);
    const dkimKeys = createDkimKeys({
      db,
      secrets,
      events: createLocalEvents({ log: silentLog }),
      clock: systemClock,
      ids: randomIds,
    });
    lifecycle.onStop("keys", () => dkimKeys.close());
    const queue = {
      deliver: async (mail: Outbound) => (queued.push(mail), mail.to.map((rcpt) => ({ rcpt, ok: true as const }))),
    };
    const { bounces, start: run } = setUpBounces(
      {
        store: { db, sweeps: localSweeps },
        secrets,
        settings,
        queue,
        srs,
        signer: createSigner({ clock: systemClock }),
        service: createServiceKeys(settings, dkimKeys),
        trace: () => {},
      },
      basics,
    );
    run();
    return { bounces, srs, stop: () => lifecycle.stop() };
  }

  const [one, other] = [start(), start()];
  const [sent] = (await one.bounces.pathsFor({
    account: "acc",
    domain: "shop.example",
    messageId: "<m@shop.example>",
    to: ["b@example.net"],
  })) as [string];
  assert.match(sent, /@bounces\.shop\.example$/);
  const forward = one.srs.forward("alice@example.org", Date.now());
  assert.ok(forward.ok);
  for (const path of [sent, forward.address]) {
    assert.ok(other.bounces.isReturnPath(path));
    assert.equal(await other.bounces.check(path, { from: "" }), undefined);
  }
  const head = Buffer.from("From: a@example.org\r\nMessage-ID: <first@example.org>\r\n");
  assert.equal(
    await other.bounces.bounce({
      inbound: { id: "in1" },
      envelope: { from: "a@example.org" },
      senderAuthenticated: true,
      recipients: [{ rcpt: "b@shop.example", reply: { code: 550, enhanced: "5.1.1", text: "no" } }],
      arrivedAt: new Date(),
      source: { headerBlock: head, size: head.length, open: () => head },
    }),
    true,
  );
  const report = Buffer.from(queued[0]!.raw() as Uint8Array).toString();
  assert.match(
    report,
    /^DKIM-Signature: [^]*d=forward\.example\.com;[^]*\r\nFrom: Mail Delivery System <MAILER-DAEMON@forward\.example\.com>\r\n[^]*Reporting-MTA: dns; mx1\.example\.com\r\n/,
  );
  await Promise.all([one.stop(), other.stop()]);
  await db.close();
});
