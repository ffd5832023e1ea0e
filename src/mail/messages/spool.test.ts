import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import * as fc from "fast-check";
import { randomIds, UserError } from "../../kernel/index.ts";
import { createSpool, type Spool } from "./spool.ts";
import type { MailSource } from "./types.ts";

const root = await mkdtemp(join(tmpdir(), "reelpost-spool-"));
after(() => rm(root, { recursive: true }));

let folders = 0;
function newSpool(options: { maxBytes?: number; memoryBytes?: number } = {}): {
  spool: Spool;
  files: () => Promise<string[]>;
} {
  const dir = join(root, `s${folders++}`);
  return { spool: createSpool({ dir, ids: randomIds, ...options }), files: () => readdir(dir).catch(() => []) };
}

function* cut(message: Buffer, size: number) {
  for (let at = 0; at < message.length; at += size) yield message.subarray(at, at + size);
}

async function* pieces(message: Buffer, size: number) {
  yield* cut(message, size);
}

async function bytesOf(source: MailSource, start?: number): Promise<Buffer> {
  const opened = source.open(start);
  return opened instanceof Readable ? Buffer.concat(await opened.toArray()) : Buffer.from(opened);
}

test("a small message stays in memory, a large one becomes a file that discard() deletes", async () => {
  const { spool, files } = newSpool({ memoryBytes: 100 });
  const small = await spool.collect(pieces(Buffer.from("A: 1\r\n\r\nhello"), 3));
  assert.ok(small.open() instanceof Uint8Array);
  assert.deepEqual(await files(), []);

  const message = Buffer.from(`A: 1\r\nB: 2\r\n\r\n${"x".repeat(1000)}`);
  const large = await spool.collect(pieces(message, 7));
  assert.ok(large.open() instanceof Readable);
  assert.equal((await files()).length, 1);
  assert.deepEqual(await bytesOf(large), message);
  assert.deepEqual(await bytesOf(large), message, "the spool file can be read again");
  assert.deepEqual(await bytesOf(large, 12), message.subarray(12));
  await large.discard();
  await large.discard();
  assert.deepEqual(await files(), []);
});

test("size, header and bytes are correct for any chunk sizes and threshold", async () => {
  const { spool, files } = newSpool({ memoryBytes: 20 });
  await fc.assert(
    fc.asyncProperty(
      fc.stringMatching(/^[a:\r\n]{0,80}$/),
      fc.integer({ min: 1, max: 30 }),
      fc.constantFrom("", "P: 1\r\n"),
      async (text, size, prefix) => {
        const message = Buffer.from(text);
        const source = await spool.collect(pieces(message, size), { prefix });
        const whole = Buffer.concat([Buffer.from(prefix), message]);
        assert.equal(source.size, whole.length);
        assert.deepEqual(await bytesOf(source), whole);
        assert.deepEqual(Buffer.from(source.headerBlock), Buffer.from(spool.fromMemory(whole).headerBlock));
        await source.discard();
      },
    ),
    { numRuns: 60 },
  );
  assert.deepEqual(await files(), []);
});

test("a message over the limit is rejected while being read, without counting its prefix, and leaves nothing behind", async () => {
  const { spool, files } = newSpool({ maxBytes: 1000, memoryBytes: 100 });
  let read = 0;
  async function* endless() {
    for (;;) {
      read += 50;
      yield Buffer.alloc(50, "a\n");
    }
  }
  const tooLarge = (err: unknown) =>
    err instanceof UserError && err.kind === "messageTooLarge" && err.entry.smtp === 552;
  await assert.rejects(spool.collect(endless()), tooLarge);
  assert.equal(read, 1050);
  assert.deepEqual(await files(), []);
  assert.throws(() => spool.fromMemory(Buffer.alloc(1001)), tooLarge);
  assert.equal((await spool.collect(pieces(Buffer.alloc(1000, "\n"), 64), { prefix: "P: 1\r\n" })).size, 1006);
});

test("the default limit is 25 MiB, and the error contains it", () => {
  const { spool } = newSpool();
  assert.equal(spool.maxBytes, 26_214_400);
  assert.throws(() => spool.fromMemory(Buffer.alloc(26_214_401)), {
    message: "Email message size is bigger than the production size limit of 25MiB.",
  });
});

test("a header section without an end is rejected at 1 MiB", async () => {
  const { spool, files } = newSpool();
  await assert.rejects(spool.collect(pieces(Buffer.alloc(1024 * 1024 + 5000, "a"), 65_536)), {
    message: "could not parse email: the header section is larger than 1048576 bytes",
  });
  assert.deepEqual(await files(), []);
});

test("an aborted stream leaves nothing behind", async () => {
  const { spool, files } = newSpool({ memoryBytes: 10 });
  async function* broken() {
    yield Buffer.alloc(100, "\n");
    throw new Error("connection lost");
  }
  await assert.rejects(spool.collect(broken()), /connection lost/);
  assert.deepEqual(await files(), []);
});

test("deletes files left by a dead process", async () => {
  const dir = join(root, "left");
  await mkdir(dir);
  await writeFile(join(dir, "old.eml"), "x");
  const spool = createSpool({ dir, ids: randomIds, memoryBytes: 10 });
  const [one, two] = await Promise.all([
    spool.collect(pieces(Buffer.alloc(100, "\n"), 20)),
    spool.collect(pieces(Buffer.alloc(100, "\n"), 20)),
  ]);
  assert.deepEqual((await readdir(dir)).sort(), [`${one.id}.eml`, `${two.id}.eml`].sort());
});

test("retries creating its folder for the next message after a failure", async () => {
  const parent = join(root, "a-file");
  await writeFile(parent, "");
  const spool = createSpool({ dir: join(parent, "spool"), ids: randomIds, memoryBytes: 10 });
  const message = Buffer.from(`A: 1\r\n\r\n${"x".repeat(100)}`);
  await assert.rejects(spool.collect(pieces(message, 50)), { code: "ENOTDIR" });
  await rm(parent);
  const kept = await spool.collect(pieces(message, 50));
  assert.deepEqual(await bytesOf(kept), message);
  await kept.discard();
});

test("close() deletes all remaining files", async () => {
  const { spool, files } = newSpool({ memoryBytes: 10 });
  await spool.collect(pieces(Buffer.alloc(100, "\n"), 20));
  assert.equal((await files()).length, 1);
  await spool.close();
  assert.deepEqual(await files(), []);
});

test("frees the memory of owned chunks after writing them, and of no others", async () => {
  const { spool } = newSpool({ memoryBytes: 1000 });
  const chunk = (text: string) => Buffer.allocUnsafeSlow(4096).fill(text);
  const body = () => [Buffer.from("A: 1\r\n\r\n"), chunk("a"), chunk("b"), chunk("c")];
  for (const ownsChunks of [true, false]) {
    const chunks = body();
    const source = await spool.collect(Readable.from(chunks), { ownsChunks });
    assert.deepEqual(await bytesOf(source), Buffer.concat(body()));
    assert.deepEqual(
      chunks.map(({ length }) => length),
      ownsChunks ? [8, 0, 0, 0] : [8, 4096, 4096, 4096],
    );
  }
});

test("does not free the buffer of an owned chunk that is a slice", async () => {
  const { spool } = newSpool({ memoryBytes: 1000 });
  const whole = Buffer.allocUnsafeSlow(8192).fill("\nab");
  await spool.collect(pieces(whole, 4096), { ownsChunks: true });
  assert.equal(whole.toString("latin1", 0, 3), "\nab");
});

test("keeps a header section larger than a write intact, owned or not", async () => {
  const { spool } = newSpool({ memoryBytes: 1000 });
  const header = Buffer.from(`X: ${"x".repeat(20_000)}\r\n`);
  const message = Buffer.concat([header, Buffer.from(`\r\n${"y".repeat(20_000)}`)]);
  const chunks = [...cut(message, 4096)].map((piece) => Buffer.allocUnsafeSlow(piece.length).fill(piece));
  const source = await spool.collect(Readable.from(chunks), { ownsChunks: true });
  assert.deepEqual(Buffer.from(source.headerBlock), header);
  assert.deepEqual(await bytesOf(source), message);
});

test("a message that arrives byte by byte uses only as much memory as its size", async () => {
  const { spool } = newSpool();
  const message = Buffer.alloc(100 * 1024, "ab\n");
  const started = performance.now();
  const source = await spool.collect(pieces(message, 1));
  assert.equal(source.size, message.length);
  assert.ok(performance.now() - started < 30_000);
  await source.discard();
});
