import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { openObjects } from "../../../../test/support/open-objects.ts";
import { createManualClock, type UserError } from "../../../kernel/index.ts";
import type { Db, ObjectStore } from "../../../store/index.ts";
import { createR2Buckets, type R2Buckets } from "./buckets.ts";
import { r2Errors } from "./errors.ts";
import type { ObjectBody, FoundObject, GetOptions, R2PutOptions, UploadedPart, UploadRef } from "./object.ts";
import { r2Migrations } from "./r2-table.ts";

export const HOUR = 3600_000;
/** Part size in bytes: multipart uploads of bytes instead of megabytes. */
export const PART = 50;

/** The fixtures of a test. */
interface R2Fixture {
  r2: R2Buckets;
  /** Not shared with other tests. */
  bucket: string;
  /** Starts at the file system's current time. */
  clock: ReturnType<typeof createManualClock>;
  stores: { db: Db; objects: ObjectStore };
  put(key: string, body?: ObjectBody | string, options?: R2PutOptions): ReturnType<R2Buckets["put"]>;
  get(key: string, options?: GetOptions): Promise<string | undefined>;
  keys(): Promise<string[]>;
  /** Resolves with the names of the bytes stored for this bucket. */
  blobs(): Promise<string[]>;
  /** Resolves with an upload with these parts, not completed. */
  upload(key: string, parts: string[], numbers?: number[]): Promise<{ ref: UploadRef; uploaded: UploadedPart[] }>;
  /** Stores bytes without a row. */
  orphan(blob: string): Promise<unknown>;
}

/** Registers tests that share a database and an object store. Call it inside a `describe`. */
export function r2Tests(engine: TestEngine) {
  let stores: R2Fixture["stores"];
  let buckets = 0;
  const ends: (() => Promise<void>)[] = [];

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), "r2-"));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const { db } = await engine.open({ after: (end) => ends.push(end) }, r2Migrations);
    stores = { db, objects: await openObjects({ folder }) };
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  return (what: string, run: (fixture: R2Fixture) => Promise<void>) =>
    test(what, async () => {
      const clock = createManualClock(Date.now());
      const r2 = createR2Buckets({ ...stores, clock, limits: { minimumPartBytes: PART } });
      await run(createFixture(r2, `bucket-${++buckets}`, clock, stores));
      await r2.close();
    });
}

const createFixture = (
  r2: R2Buckets,
  bucket: string,
  clock: R2Fixture["clock"],
  stores: R2Fixture["stores"],
): R2Fixture => ({
  r2,
  bucket,
  clock,
  stores,
  put: (key, body = "value", options) =>
    r2.put(bucket, key, typeof body === "string" ? Buffer.from(body) : body, options),
  get: async (key, options) => textOf(await r2.get(bucket, key, options)),
  keys: async () => (await r2.list(bucket)).objects.map(({ key }) => key),
  async blobs() {
    await r2.close();
    const names: string[] = [];
    for await (const { key } of stores.objects.list(`r2/${bucket}/`)) names.push(key.split("/").at(-1)!);
    return names;
  },
  async upload(key, parts, numbers = parts.map((_, index) => index + 1)) {
    const ref = await r2.createUpload(bucket, key);
    const uploaded = [];
    for (const [index, part] of parts.entries())
      uploaded.push(await r2.uploadPart(bucket, ref, numbers[index]!, Buffer.from(part)));
    return { ref, uploaded };
  },
  orphan: (blob) => stores.objects.put(`r2/${bucket}/${blob}`, Buffer.from("left behind")),
});

export type Kind = Exclude<keyof typeof r2Errors, "table">;

/** Matches an error of that kind, with the code and message from the table. */
export const refusal = (kind: Kind) => (err: unknown) => {
  const { domain, kind: found, code } = err as UserError;
  assert.deepEqual([domain, found, code], ["r2", kind, r2Errors.table[kind].code]);
  return true;
};

export const md5 = (value: string) => createHash("md5").update(value).digest("hex");
export const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
/** Resolves with the whole body, once its reader has released it; undefined if the body is absent. */
export async function bytesOf(found: FoundObject | undefined): Promise<Buffer | undefined> {
  if (!found?.body) return undefined;
  const [bytes] = await Promise.all([buffer(found.body), once(found.body, "close")]);
  return bytes;
}
export const textOf = async (found: FoundObject | undefined) => (await bytesOf(found))?.toString();

export async function* stream(chunks: Uint8Array[]) {
  yield* chunks;
}
