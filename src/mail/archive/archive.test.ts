import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { createMessageArchive } from "./archive.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";

const DAY = 24 * 3_600_000;
const id = (digit: string) => digit.repeat(32);

async function open(t: TestContext, { days = 7, maxBytes = 1_000_000 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-archive-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clock = createManualClock(Date.UTC(2026, 10, 20, 23, 59));
  const objects = await openWriteOnceObjects({ folder });
  const archive = createMessageArchive({ objects, clock, log: silentLog, days, maxBytes });
  const store = (account: string, message: string, raw: string) =>
    archive.store({ account, id: message }, { size: raw.length, open: () => Readable.from([Buffer.from(raw)]) });
  const read = async (account: string, message: string, at: number) =>
    (await (await archive.open({ account, id: message, at }))?.bytes())?.toString();
  return { archive, clock, objects, folder, store, read };
}

test("keeps a message for its account until it expires", async (t) => {
  const { archive, clock, folder, store, read } = await open(t);
  const received = clock.now();
  // The copy is stored after midnight.
  clock.advance(120_000);
  await store("a".repeat(32), id("1"), "Subject: 1\r\n\r\nbody");
  await store("", id("2"), "Subject: 2\r\n\r\n");
  assert.deepEqual(
    [
      await read("a".repeat(32), id("1"), received),
      await read("b".repeat(32), id("1"), received),
      await read("", id("2"), received),
    ],
    ["Subject: 1\r\n\r\nbody", undefined, "Subject: 2\r\n\r\n"],
  );
  clock.advance(7 * DAY);
  assert.equal(await archive.sweep(), 0);
  clock.advance(DAY);
  assert.equal(await archive.sweep(), 2);
  assert.equal(await read("a".repeat(32), id("1"), received), undefined);
  assert.deepEqual(await readdir(join(folder, "mail", "received")).catch(() => []), []);
});

test("deletes single messages", async (t) => {
  const { archive, clock, store, read } = await open(t);
  await store("a", id("1"), "one");
  await store("a", id("2"), "two");
  await archive.delete([{ account: "a", id: id("1"), at: clock.now() }]);
  assert.deepEqual([await read("a", id("1"), clock.now()), await read("a", id("2"), clock.now())], [undefined, "two"]);
});

test("stores nothing beyond the limit, and a sweep deletes the oldest messages above it", async (t) => {
  const { archive, clock, store, read, objects } = await open(t, { maxBytes: 10 });
  const start = clock.now();
  await store("a", id("1"), "123456");
  await store("a", id("2"), "123456");
  assert.equal(await read("a", id("2"), start), undefined);
  clock.advance(DAY);
  const smaller = createMessageArchive({ objects, clock, log: silentLog, days: 7, maxBytes: 8 });
  await smaller.store({ account: "a", id: id("3") }, { size: 7, open: () => Buffer.from("1234567") });
  assert.equal(await smaller.sweep(), 1);
  assert.deepEqual([await read("a", id("1"), start), await read("a", id("3"), clock.now())], [undefined, "1234567"]);
  assert.equal(await archive.sweep(), 0);
});

test("a copy that cannot be stored does not affect the message", async (t) => {
  const { clock, objects } = await open(t);
  const warnings: unknown[] = [];
  const archive = createMessageArchive({
    objects: { ...objects, put: () => Promise.reject(new Error("disk full")) },
    clock,
    log: { ...silentLog, warn: (...args: unknown[]) => void warnings.push(args) } as typeof silentLog,
    days: 7,
    maxBytes: 1000,
  });
  await archive.store({ account: "a", id: id("1") }, { size: 1, open: () => Buffer.from("x") });
  assert.equal(warnings.length, 1);
});
