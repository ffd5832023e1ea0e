import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { openObjects } from "../../../test/support/open-objects.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { createSentMessages } from "./sent-messages.ts";

const DAY = 24 * 3_600_000;

async function open(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-sent-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clock = createManualClock(Date.UTC(2026, 10, 20, 23, 59));
  return { clock, objects: await openObjects({ folder }) };
}

test("sent messages are kept for their account for a week", async (t) => {
  const { clock, objects } = await open(t);
  const sent = createSentMessages({ objects, clock, log: silentLog });
  const read = async (account: string, messageId: string) =>
    (await (await sent.open(account, messageId))?.bytes())?.toString();
  await sent.store({ account: "a", messageId: "<1@x>", source: { open: () => Buffer.from("Subject: 1\r\n\r\nbody") } });
  clock.advance(DAY);
  await sent.store({
    account: "a",
    messageId: "<../../2@x>",
    source: { open: () => Readable.from([Buffer.from("Subject: "), Buffer.from("2")]) },
  });
  assert.deepEqual(
    [await read("a", "<1@x>"), await read("a", "<../../2@x>"), await read("b", "<1@x>"), await read("a", "<3@x>")],
    ["Subject: 1\r\n\r\nbody", "Subject: 2", undefined, undefined],
  );
  clock.advance(6 * DAY);
  assert.equal(await sent.sweep(), 0);
  assert.equal(await read("a", "<1@x>"), "Subject: 1\r\n\r\nbody");
  clock.advance(DAY);
  assert.equal(await sent.sweep(), 1);
  assert.deepEqual([await read("a", "<1@x>"), await read("a", "<../../2@x>")], [undefined, "Subject: 2"]);
});

test("a failing message store does not affect mail", async (t) => {
  const { clock, objects } = await open(t);
  const warned: unknown[] = [];
  const sent = createSentMessages({
    objects: { ...objects, put: () => Promise.reject(new Error("no room")) },
    clock,
    log: { ...silentLog, warn: (...said: unknown[]) => void warned.push(said) } as typeof silentLog,
  });
  await sent.store({ account: "a", messageId: "<1@x>", source: { open: () => Buffer.from("x") } });
  assert.equal(warned.length, 1);
});
