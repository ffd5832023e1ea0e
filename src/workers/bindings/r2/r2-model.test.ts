import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import * as fc from "fast-check";
import { onEveryDatabase, type TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, UserError } from "../../../kernel/index.ts";
import { openFsObjects } from "../../../store/index.ts";
import { createR2Buckets, type R2Buckets } from "./buckets.ts";
import { r2Migrations } from "./r2-table.ts";

/** Smallest part except the last, in bytes. */
const PART = 3;
// "0" comes right after "/": a page after everything under "a/" starts there.
const KEYS = ["", "a", "a/", "a/b", "a/b/c", "a0", "b", "é", "🙂"];

/** R2 as a map: the expected contents of a bucket in their simplest form. */
interface Model {
  objects: Map<string, { value: string; etag: string; blobs: number }>;
  uploads: { key: string; id: string; state: "open" | "completed" | "aborted"; parts: Map<number, string> }[];
}

type Op =
  | { op: "put"; key: string; value: string; onlyIf: "nothing" | "absent" | "same" | "wrong" }
  | { op: "get"; key: string; offset: number; length: number }
  | { op: "list"; prefix: string; delimiter: string; limit: number; startAfter: string | undefined }
  | { op: "delete"; keys: string[] }
  | { op: "create"; key: string }
  | { op: "part"; upload: number; number: number; value: string }
  | { op: "complete"; upload: number; numbers: number[] | "all"; spoil: boolean }
  | { op: "abort"; upload: number }
  | { op: "sweep" };

const key = fc.constantFrom(...KEYS);
const value = fc.string({ unit: fc.constantFrom("x", "y", "ü"), maxLength: 8 });
const upload = fc.constantFrom(0, 0, 0, 1);
const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("ppp", "qqq") },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom("p", "q"), minLength: 1, maxLength: 4 }) },
);
/** Weighted so that uploads often reach completion. */
const often = <Value>(arbitrary: fc.Arbitrary<Value>) => ({ weight: 3, arbitrary });
const operation: fc.Arbitrary<Op> = fc.oneof(
  fc.record({
    op: fc.constant("put" as const),
    key,
    value,
    onlyIf: fc.constantFrom(
      "nothing" as const,
      "nothing" as const,
      "absent" as const,
      "same" as const,
      "wrong" as const,
    ),
  }),
  fc.record({ op: fc.constant("get" as const), key, offset: fc.nat(12), length: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    op: fc.constant("list" as const),
    prefix: fc.constantFrom("", "a", "a/", "z"),
    delimiter: fc.constantFrom("", "/", "b"),
    limit: fc.integer({ min: 1, max: 5 }),
    startAfter: fc.option(key, { nil: undefined }),
  }),
  fc.record({ op: fc.constant("delete" as const), keys: fc.array(key, { minLength: 1, maxLength: 3 }) }),
  fc.record({ op: fc.constant("create" as const), key }),
  often(fc.record({ op: fc.constant("part" as const), upload, number: fc.integer({ min: 1, max: 4 }), value: part })),
  often(
    fc.record({
      op: fc.constant("complete" as const),
      upload,
      numbers: fc.oneof(fc.constant("all" as const), fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 })),
      spoil: fc.constantFrom(false, false, false, true),
    }),
  ),
  fc.record({ op: fc.constant("abort" as const), upload }),
  fc.record({ op: fc.constant("sweep" as const) }),
);

onEveryDatabase((engine) => {
  test("R2 returns the same results as the model for any sequence of requests", async (t) => {
    const { r2, blobsOf } = await openR2(engine, t);
    let buckets = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 80, size: "max" }), async (operations) => {
        const bucket = `bucket-${++buckets}`;
        const model: Model = { objects: new Map(), uploads: [] };
        for (const operation of operations) await perform(r2, bucket, model, operation);
        for (const name of KEYS) await compare(r2, bucket, model, name);
        const parts = model.uploads.reduce((sum, { state, parts: { size } }) => sum + (state === "open" ? size : 0), 0);
        const objects = [...model.objects.values()].reduce((sum, { blobs }) => sum + blobs, 0);
        assert.equal(await blobsOf(bucket), objects + parts, "no unreferenced blobs remain in the store");
      }),
      { numRuns: engine.name === "sqlite" ? 25 : 5 },
    );
  });
});

async function openR2(engine: TestEngine, t: { after(end: () => Promise<void>): void }) {
  const folder = await mkdtemp(join(tmpdir(), "r2-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const objects = await openFsObjects({ folder });
  const { db } = await engine.open(t, r2Migrations);
  const clock = createManualClock(Date.now());
  const r2 = createR2Buckets({ db, objects, clock, limits: { minimumPartBytes: PART } });
  t.after(() => r2.close());
  async function blobsOf(bucket: string) {
    await r2.close();
    let count = 0;
    for await (const _blob of objects.list(`r2/${bucket}/`)) count++;
    return count;
  }
  return { r2, blobsOf };
}

async function perform(r2: R2Buckets, bucket: string, model: Model, operation: Op): Promise<void> {
  switch (operation.op) {
    case "put": {
      const { key, value, onlyIf } = operation;
      const current = model.objects.get(key);
      const allowed = { nothing: true, absent: !current, same: Boolean(current), wrong: false }[onlyIf];
      const conditions = {
        nothing: undefined,
        absent: { etagDoesNotMatch: [{ type: "wildcard" as const }] },
        same: { etagMatches: [{ type: "strong" as const, value: current?.etag ?? "none" }] },
        wrong: { etagMatches: [{ type: "strong" as const, value: "no such etag" }] },
      }[onlyIf];
      const put = r2.put(bucket, key, Buffer.from(value), { onlyIf: conditions });
      if (!allowed) return refused(put, 10031);
      const { etag } = await put;
      assert.equal(etag, md5(value));
      return void model.objects.set(key, { value, etag, blobs: 1 });
    }
    case "get": {
      const { key, offset, length } = operation;
      const bytes = model.objects.has(key) ? Buffer.from(model.objects.get(key)!.value) : undefined;
      const get = r2.get(bucket, key, { range: { offset, length } });
      if (!bytes) return assert.equal(await get, undefined);
      if ((offset > 0 && offset >= bytes.length) || (bytes.length === 0 && offset > 0)) return refused(get, 10039);
      return assert.equal(await text((await get)!.body!), bytes.subarray(offset, offset + length).toString());
    }
    case "list":
      return assert.deepEqual(await listAll(r2, bucket, operation), expectedList(model, operation));
    case "delete": {
      await r2.delete(bucket, operation.keys);
      for (const key of operation.keys) model.objects.delete(key);
      return;
    }
    case "create": {
      const { uploadId } = await r2.createUpload(bucket, operation.key);
      return void model.uploads.unshift({ key: operation.key, id: uploadId, state: "open", parts: new Map() });
    }
    case "part": {
      const upload = model.uploads[operation.upload];
      if (!upload) return;
      const put = r2.uploadPart(
        bucket,
        { key: upload.key, uploadId: upload.id },
        operation.number,
        Buffer.from(operation.value),
      );
      if (upload.state !== "open") return refused(put, 10024);
      assert.equal((await put).etag, md5(operation.value));
      return void upload.parts.set(operation.number, operation.value);
    }
    case "complete": {
      const upload = model.uploads[operation.upload];
      if (!upload) return;
      const numbers = operation.numbers === "all" ? [...upload.parts.keys()] : operation.numbers;
      const wanted = numbers.map((partNumber) => ({
        partNumber,
        etag: operation.spoil ? "spoilt" : md5(upload.parts.get(partNumber) ?? ""),
      }));
      const complete = r2.completeUpload(bucket, { key: upload.key, uploadId: upload.id }, wanted);
      if (upload.state !== "open") return refused(complete, 10024);
      if (numbers.some((number) => operation.spoil || !upload.parts.has(number))) return refused(complete, 10025);
      const parts = numbers.toSorted((a, b) => a - b).map((number) => upload.parts.get(number)!);
      const size = parts[0]?.length ?? 0;
      if (
        parts.slice(0, -1).some((part) => part.length !== size || part.length < PART) ||
        (parts.at(-1)?.length ?? 0) > size
      )
        return refused(complete, 10011, 10048);
      const { etag } = await complete;
      assert.match(etag, new RegExp(`^[0-9a-f]{32}-${parts.length}$`));
      upload.state = "completed";
      return void model.objects.set(upload.key, { value: parts.join(""), etag, blobs: parts.length });
    }
    case "abort": {
      const upload = model.uploads[operation.upload];
      if (!upload) return;
      await r2.abortUpload(bucket, { key: upload.key, uploadId: upload.id });
      if (upload.state === "open") upload.state = "aborted";
      return;
    }
    case "sweep":
      return void (await r2.sweep());
  }
}

async function compare(r2: R2Buckets, bucket: string, model: Model, key: string): Promise<void> {
  const expected = model.objects.get(key);
  const found = await r2.get(bucket, key);
  assert.equal(found?.object.etag, expected?.etag);
  assert.equal(found?.body && (await text(found.body)), expected?.value);
}

type ListOp = Extract<Op, { op: "list" }>;

/** Reads all pages. */
async function listAll(r2: R2Buckets, bucket: string, { prefix, delimiter, limit, startAfter }: ListOp) {
  const keys: string[] = [];
  const prefixes: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await r2.list(bucket, { prefix, delimiter, limit, startAfter, cursor });
    const count = page.objects.length + page.delimitedPrefixes.length;
    assert.ok(count <= limit && (page.cursor === undefined || count === limit), "every page except the last is full");
    keys.push(...page.objects.map(({ key }) => key));
    prefixes.push(...page.delimitedPrefixes);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { keys, prefixes };
}

function expectedList(model: Model, { prefix, delimiter, startAfter }: ListOp) {
  const keys = [...model.objects.keys()]
    .filter((key) => key.startsWith(prefix) && (startAfter === undefined || byBytes(key, startAfter) > 0))
    .sort(byBytes);
  const fold = (key: string) =>
    delimiter !== "" && key.indexOf(delimiter, prefix.length) !== -1
      ? key.slice(0, key.indexOf(delimiter, prefix.length) + delimiter.length)
      : undefined;
  return {
    keys: keys.filter((key) => fold(key) === undefined),
    prefixes: [...new Set(keys.flatMap((key) => fold(key) ?? []))],
  };
}

async function refused(promise: Promise<unknown>, ...codes: number[]): Promise<void> {
  const result = await promise.then(
    () => "accepted",
    (err: unknown) => err,
  );
  assert.ok(
    result instanceof UserError && codes.includes(Number(result.code)),
    `expected ${codes.join(" or ")}, got ${String(result)}`,
  );
}

const md5 = (value: string) => createHash("md5").update(value).digest("hex");
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
