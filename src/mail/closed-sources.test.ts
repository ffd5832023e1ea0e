import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { ObjectStore } from "../store/index.ts";
import { createSentMessages } from "./activity/index.ts";
import { createRetryBodies } from "./retry/index.ts";
import { createRspamd } from "./inbound/index.ts";
import { clock, log, temporaryFolder } from "./mail.testing.ts";
import type { MailSource } from "./messages/index.ts";
import { createBodies, createSpareFiles, writeFileAtomically } from "./outbound/index.ts";

/** Tests that failing consumers close their source: an unread stream holds a file descriptor until it is closed. */

const failingStore = { put: async () => Promise.reject(new Error("no space left")) } as unknown as ObjectStore;

function openSource() {
  const raw = Readable.from(
    Array.from({ length: 10 }, () => Buffer.alloc(20_000, "x")),
    { objectMode: false },
  );
  const source: MailSource = {
    id: "m1",
    size: 200_000,
    headerBlock: Buffer.from("Subject: x\r\n"),
    open: () => raw,
    discard: async () => {},
  };
  return { raw, source };
}

test("the queue closes a message that the object store rejects", async () => {
  const { raw } = openSource();
  const bodies = createBodies({ objects: failingStore, small: async () => undefined, maxBytes: 1_000_000 });
  await assert.rejects(bodies.store({ id: "m1", createdAt: 0 }, raw), /no space/);
  assert.ok(raw.destroyed);
});

test("the retry queue closes a message that the object store rejects", async () => {
  const { raw, source } = openSource();
  await assert.rejects(createRetryBodies(failingStore).put("m1", 0, source), /no space/);
  assert.ok(raw.destroyed);
});

test("the store of sent messages closes a message that the object store rejects", async () => {
  const { raw, source } = openSource();
  await createSentMessages({ objects: failingStore, clock, log }).store({ account: "a1", messageId: "<m1@x>", source });
  assert.ok(raw.destroyed);
});

test("the file transport closes a message when its folder is missing", async () => {
  const { raw, source } = openSource();
  const dir = await temporaryFolder();
  await assert.rejects(
    writeFileAtomically(join(dir, "missing", "m1.eml"), source, createSpareFiles({ dir: join(dir, "spare") })),
    { code: "ENOENT" },
  );
  assert.ok(raw.destroyed);
});

test("the content filter closes a message when rspamd cannot be reached", async () => {
  const free = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => void free.once("listening", resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => void free.close(resolve));
  const { raw, source } = openSource();
  await assert.rejects(
    createRspamd({ url: `http://127.0.0.1:${port}` }).check(
      { from: "a@x", to: ["b@x"], helo: "x", ip: "192.0.2.1", smtputf8: false },
      source,
    ),
  );
  assert.ok(raw.destroyed);
});
