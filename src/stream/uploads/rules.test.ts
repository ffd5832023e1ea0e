import assert from "node:assert/strict";
import { setImmediate as soon } from "node:timers/promises";
import { test } from "node:test";
import { silentLog, UserError } from "../../kernel/index.ts";
import { createLocalEvents } from "../../store/index.ts";
import { checkChunk, type UploadChunk } from "./chunk-rules.ts";
import { nonVideoReason } from "./sniff.ts";
import { createUploadLock } from "./upload-lock.ts";

const MIB = 1024 * 1024;

test("chunks except the last are multiples of 256 KiB of at least 5 MiB, and the error names the rule and the value", () => {
  const chunk = (octets: number | undefined, more: Partial<UploadChunk> = {}) =>
    checkChunk({ offset: 0, octets, length: 1000 * MIB, max: 200 * MIB, ...more });
  for (const octets of [5 * MIB, 50 * MIB, 200 * MIB, 5 * MIB + 262_144, 0, undefined]) chunk(octets);
  chunk(1, { offset: 1000 * MIB - 1 });
  chunk(77, { length: 77 });
  chunk(900 * MIB, { max: 0 });
  chunk(2 * MIB, { max: 2 * MIB });
  const refused = (text: RegExp) => (err: unknown) =>
    err instanceof UserError && err.code === 10005 && err.entry.http === 400 && text.test(err.message);
  assert.throws(
    () => chunk(5 * MIB + 1),
    refused(/Chunk size must be a multiple of 256KiB \(262144 bytes\) unless it is the last one, not 5242881 bytes/),
  );
  assert.throws(() => chunk(262_144), refused(/at least 5242880 bytes unless it is the last one, not 262144 bytes/));
  assert.throws(() => chunk(201 * MIB), refused(/at most 209715200 bytes .*not 210763776 bytes/));
  assert.throws(() => chunk(300 * MIB, { length: 300 * MIB }), refused(/at most 209715200/));
});

test("content sniffing rejects text and non-media files, and accepts media containers", () => {
  const head = (text: string, whole = false) =>
    nonVideoReason(Buffer.from(text.padEnd(whole ? 0 : 600, " "), "latin1"), whole);
  assert.match(nonVideoReason(Buffer.alloc(0), true)!, /empty/);
  for (const text of [
    "<!doctype html><html>",
    "#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n",
    "ffconcat version 1.0\nfile /etc/passwd",
    '{"a":1}',
  ]) {
    assert.match(head(text)!, /text/);
    assert.match(head(text, true)!, /text/);
  }
  assert.match(nonVideoReason(Buffer.from("Zoë über".repeat(100)), false)!, /text/);
  assert.match(head("\x89PNG\r\n\x1a\n")!, /PNG/);
  assert.match(head("PK\x03\x04")!, /ZIP/);
  assert.match(head("%PDF-1.7")!, /PDF/);
  for (const video of [
    "\0\0\0\x20ftypisom\0\0\x02\0",
    "\x1aE\xdf\xa3\x01\0\0\0",
    "RIFF\x10\0\0\0AVI LIST",
    "G@\0\x10\0\0\xb0",
    "FLV\x01\x05\0\0\0\x09",
    "OggS\0\x02",
    "GIF89a\x10\0\x10\0",
    "ID3\x03\0",
    "\0\0\x01\xba",
    "0&\xb2u\x8ef\xcf\x11",
  ])
    assert.equal(head(video), undefined, video);
  assert.equal(nonVideoReason(Buffer.alloc(4096), false), undefined);
});

test("one request holds the lock, and a waiting request asks the holder to release it, within a time limit", async () => {
  const events = createLocalEvents({ log: silentLog });
  const lock = createUploadLock({ events, process: "one" });
  let requested = 0;
  const first = await lock.acquire("a", { onContended: () => void requested++ });
  const waiting = lock.acquire("a", {});
  await soon();
  assert.deepEqual([requested, lock.has("a"), lock.has("b")], [1, true, false]);
  first!();
  const second = await waiting;
  assert.equal(typeof second, "function");
  assert.equal(await lock.acquire("a", { waitMs: 1 }), undefined);
  assert.equal(await lock.acquire("a", { signal: AbortSignal.abort() }), undefined);
  first!();
  assert.equal(lock.has("a"), true);
  second!();
  assert.equal(lock.has("a"), false);
});

test("an acquired lock is announced to other processes, which release theirs, and a process ignores its own events", async () => {
  const events = createLocalEvents({ log: silentLog });
  const [one, two] = [createUploadLock({ events, process: "one" }), createUploadLock({ events, process: "two" })];
  const requested: string[] = [];
  await one.acquire("a", { onContended: () => void requested.push("one") });
  await soon();
  assert.equal(requested.length, 0);
  await two.acquire("b", { onContended: () => void requested.push("two, of b") });
  await two.acquire("a", { onContended: () => void requested.push("two, of a") });
  await soon();
  assert.deepEqual(requested, ["one"]);
  one.close();
  two.close();
});
