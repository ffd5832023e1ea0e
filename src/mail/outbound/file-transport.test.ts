import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import * as fc from "fast-check";
import type { Outbound } from "../messages/index.ts";
import { createFileTransport, type WrittenMail } from "./file-transport.ts";
import { fileStem, safeFilename } from "./filename.ts";

const root = await mkdtemp(join(tmpdir(), "reelpost-file-transport-"));
const transports: { close(): void }[] = [];
after(() => {
  for (const transport of transports) transport.close();
  // Files prepared ahead of time may still appear.
  return rm(root, { recursive: true, maxRetries: 20, retryDelay: 20 });
});

function open(options: Parameters<typeof createFileTransport>[0]) {
  const transport = createFileTransport(options);
  transports.push(transport);
  return transport;
}

const ID = "Abcdefghijklmnopqrstuvwxyz0123456789";
const mail = (more: Partial<Outbound> = {}): Outbound => ({
  messageId: `<${ID}@example.com>`,
  cause: "send",
  from: "a@example.com",
  to: ["b@example.com", "c@example.com"],
  raw: () => Buffer.from("Subject: x\r\n\r\nbody\r\n"),
  ...more,
});

test("writes each kind of message to its own folder, with unchanged bytes and streams", async () => {
  const dir = join(root, "causes");
  const written: WrittenMail[] = [];
  const transport = open({ dir, onWritten: (mail) => void written.push(mail) });
  assert.deepEqual(await transport.deliver(mail()), [
    { rcpt: "b@example.com", ok: true },
    { rcpt: "c@example.com", ok: true },
  ]);
  await transport.deliver(mail({ cause: "reply" }));
  await transport.deliver(
    mail({
      cause: "forward",
      raw: () => Readable.from([Buffer.from("one"), Buffer.from("two")], { objectMode: false }),
    }),
  );
  assert.deepEqual(
    written.flatMap(({ files }) => files.map(({ kind, path }) => [kind, relative(dir, path)])),
    [
      ["eml", `email/${ID}.eml`],
      ["eml", `reply/${ID}.eml`],
      ["eml", `forward/${ID}.eml`],
    ],
  );
  assert.equal(await readFile(join(dir, `email/${ID}.eml`), "latin1"), "Subject: x\r\n\r\nbody\r\n");
  assert.equal(await readFile(join(dir, `forward/${ID}.eml`), "latin1"), "onetwo");
  assert.deepEqual(await readdir(join(dir, "email")), [`${ID}.eml`], "no temporary file remains");
});

test("links a spooled message instead of copying it where possible", async () => {
  const dir = join(root, "linked");
  const spooled = join(root, "spooled.eml");
  await writeFile(spooled, "spooled");
  const raw = () => assert.fail("the message was read");
  const transport = open({ dir });
  assert.deepEqual(await transport.deliver(mail({ cause: "forward", to: ["b@example.com"], raw, file: spooled })), [
    { rcpt: "b@example.com", ok: true },
  ]);
  await rm(spooled);
  assert.equal(await readFile(join(dir, `forward/${ID}.eml`), "latin1"), "spooled");
  // The file does not exist on the other file system.
  await transport.deliver(mail({ cause: "reply", raw: () => Buffer.from("copied"), file: "/proc/self/status" }));
  assert.equal(await readFile(join(dir, `reply/${ID}.eml`), "latin1"), "copied");
  transport.close();
});

test("handles any number of files prepared ahead of time, and leaves none behind", async () => {
  const dir = join(root, "spares");
  const transport = open({ dir });
  const id = (n: number) => `<${String(n).padStart(36, "0")}@example.com>`;
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        transport.deliver(mail({ messageId: id(round * 40 + n), raw: () => Buffer.from(`message ${round * 40 + n}`) })),
      ),
    );
    await new Promise((resolve) => void setImmediate(resolve));
  }
  const files = await Promise.all(
    (await readdir(join(dir, "email"))).sort().map((name) => readFile(join(dir, "email", name), "latin1")),
  );
  assert.deepEqual(
    files,
    Array.from({ length: 120 }, (_, n) => `message ${n}`),
  );
  transport.close();
  while ((await readdir(dir)).includes(".spare")) await new Promise((resolve) => void setImmediate(resolve));
});

test("writes the parts of a builder message to separate files", async () => {
  const dir = join(root, "parts");
  const written: WrittenMail[] = [];
  const attachment = (filename: string, content: string) => ({
    filename,
    type: "text/plain",
    content: Buffer.from(content),
  });
  const parts = {
    text: "hi",
    html: "<p>hi</p>",
    attachments: [attachment("a b.txt", "1"), attachment("A_b.txt", "2"), attachment("../../etc/passwd", "3")],
  };
  await open({ dir, onWritten: (mail) => void written.push(mail) }).deliver(mail({ parts }));
  const files = written[0]!.files.slice(1);
  assert.deepEqual(
    files.map(({ path }) => relative(dir, path)),
    [
      `email-text/${ID}.txt`,
      `email-html/${ID}.html`,
      `email-attachment/${ID}-a_b.txt`,
      `email-attachment/${ID}-2-A_b.txt`,
      `email-attachment/${ID}-passwd`,
    ],
  );
  assert.deepEqual(await Promise.all(files.map(({ path }) => readFile(path, "utf8"))), [
    "hi",
    "<p>hi</p>",
    "1",
    "2",
    "3",
  ]);
});

test("an unwritable folder is a temporary failure for every recipient and throws no exception", async () => {
  const dir = join(root, "readonly");
  await writeFile(dir, "a file where the folder should be");
  const settled = await open({ dir }).deliver(mail());
  assert.deepEqual(
    settled.map((one) => !one.ok && [one.temporary, one.reply.code, one.reply.enhanced]),
    [
      [true, 451, "4.3.0"],
      [true, 451, "4.3.0"],
    ],
  );
});

test("creates a deleted folder again", async () => {
  const dir = join(root, "tidied");
  const transport = open({ dir });
  await transport.deliver(mail());
  for (let round = 0; round < 3; round++) {
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    assert.deepEqual(await transport.deliver(mail({ to: ["b@example.com"] })), [{ rcpt: "b@example.com", ok: true }]);
    await new Promise((resolve) => void setImmediate(resolve));
  }
  assert.deepEqual(await readdir(join(dir, "email")), [`${ID}.eml`]);
});

test("an aborted message leaves no file", async () => {
  const dir = join(root, "broken");
  async function* broken() {
    yield Buffer.from("half");
    throw new Error("gone");
  }
  const [settled] = await open({ dir }).deliver(
    mail({ cause: "forward", raw: () => Readable.from(broken(), { objectMode: false }) }),
  );
  assert.equal(settled!.ok, false);
  assert.deepEqual(await readdir(join(dir, "forward")), []);
});

test("derives file names from our own identifiers, and from a hash of any other", () => {
  assert.equal(fileStem(`<${ID}@example.com>`), ID);
  for (const id of ["<../../etc@x>", "<a b@x>", "", "<short@x>", `<${"a".repeat(300)}@x>`])
    assert.match(fileStem(id), /^[0-9a-f]{36}$/);
});

test("user-supplied names cannot escape their folder and never need quoting", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      const safe = safeFilename(name);
      assert.match(safe, /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/);
      assert.equal(basename(safe), safe);
    }),
  );
  assert.equal(safeFilename("Überblick 2026.pdf"), "Uberblick_2026.pdf");
  assert.equal(safeFilename("日本"), "attachment");
  assert.equal(safeFilename(`${"a".repeat(150)}.pdf`), `${"a".repeat(96)}.pdf`);
});
