import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { after, before, describe, test } from "node:test";
import { createManualClock, type UserError } from "../../../kernel/index.ts";
import { openFsObjects, type Db, type ObjectStore } from "../../../store/index.ts";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createR2Buckets, type R2Buckets } from "./buckets.ts";
import { r2Errors } from "./errors.ts";
import type { Body, FoundObject, GetOptions, PutOptions } from "./object.ts";
import { r2Migrations } from "./r2-table.ts";

const HOUR = 3600_000;
/** Multipart uploads of bytes instead of megabytes. */
const PART = 50;

/** What R2 must be on every database. */
export function r2Conformance(engine: TestEngine): void {
  describe("R2", () => {
    let fixture: { db: Db; objects: ObjectStore };
    let r2: R2Buckets;
    const ends: (() => Promise<void>)[] = [];
    let buckets = 0;
    let bucket = "";
    let clock = createManualClock();

    before(async () => {
      const folder = await mkdtemp(join(tmpdir(), "r2-"));
      ends.push(() => rm(folder, { recursive: true, force: true }));
      const { db } = await engine.open({ after: (end) => ends.push(end) }, r2Migrations);
      fixture = { db, objects: await openFsObjects({ folder }) };
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });
    /** Each test has a bucket to itself, and a clock that begins where the file system's is. */
    const it = (what: string, run: () => Promise<void>) =>
      test(what, async () => {
        bucket = `bucket-${++buckets}`;
        clock = createManualClock(Date.now());
        r2 = createR2Buckets({ ...fixture, clock, limits: { minimumPartBytes: PART } });
        await run();
        await r2.close();
      });

    const put = (key: string, body: Body | string = "value", options?: PutOptions) => r2.put(bucket, key, typeof body === "string" ? Buffer.from(body) : body, options);
    const get = async (key: string, options?: GetOptions) => textOf(await r2.get(bucket, key, options));
    const keys = async () => (await r2.list(bucket)).objects.map(({ key }) => key);
    /** The names of the bytes that lie in the store for this bucket. */
    const blobs = async () => {
      await r2.close();
      const names: string[] = [];
      for await (const { key } of fixture.objects.list(`r2/${bucket}/`)) names.push(key.split("/").at(-1)!);
      return names;
    };
    const upload = async (key: string, parts: string[], order = parts.map((_, index) => index + 1)) => {
      const ref = await r2.createUpload(bucket, key);
      const uploaded = [];
      for (const [index, part] of parts.entries()) uploaded.push(await r2.uploadPart(bucket, ref, order[index]!, Buffer.from(part)));
      return { ref, uploaded };
    };

    describe("put, get, head", () => {
      it("gives back what was put", async () => {
        const httpMetadata = { contentType: "text/plain", contentLanguage: "en", contentDisposition: "inline", contentEncoding: "gzip", cacheControl: "max-age=1", cacheExpiry: new Date("2030-01-01") };
        const customMetadata = { a: "1", "ü": "🙂\0", ["__proto__"]: "own" };
        const object = await put("key", "value", { httpMetadata, customMetadata, storageClass: "InfrequentAccess" });
        assert.deepEqual(object, {
          key: "key", version: object.version, size: 5, etag: md5("value"), uploaded: new Date(clock.now()), httpMetadata, customMetadata,
          storageClass: "InfrequentAccess", checksums: { md5: md5("value") },
        });
        assert.match(object.version, /^[0-9a-f]{32}$/);
        assert.deepEqual(await r2.head(bucket, "key"), object);
        const found = await r2.get(bucket, "key");
        assert.deepEqual([found!.object, found!.range], [object, { offset: 0, length: 5 }]);
        assert.equal(await textOf(found), "value");
      });

      it("knows nothing of absent keys and of other buckets", async () => {
        await put("key");
        assert.equal(await r2.head(bucket, "other"), undefined);
        assert.equal(await r2.get(bucket, "other"), undefined);
        assert.equal(await r2.head(`${bucket}-x`, "key"), undefined);
      });

      it("keeps empty objects, the empty key and keys of every kind apart", async () => {
        const strange = ["", " ", "a/../b", "a", "A", "a ", "é", "e\u0301", "🙂", "%", "_", "'", '"', "\\", "\n", "x".repeat(1024)];
        for (const key of strange) await put(key, key === "a" ? "" : `of ${key}`);
        for (const key of strange) assert.equal(await get(key), key === "a" ? "" : `of ${key}`);
        assert.deepEqual(await keys(), strange.toSorted(byBytes));
      });

      it("reads ranges", async () => {
        await put("key", "0123456789");
        assert.equal(await get("key", { range: { offset: 3 } }), "3456789");
        assert.equal(await get("key", { range: { offset: 3, length: 2 } }), "34");
        assert.equal(await get("key", { range: { suffix: 2 } }), "89");
        assert.equal(await get("key", { range: { header: "bytes=1-2" } }), "12");
        assert.deepEqual((await drained(await r2.get(bucket, "key", { range: { suffix: 99 } })))!.range, { offset: 0, length: 10 });
        await assert.rejects(r2.get(bucket, "key", { range: { offset: 10 } }), refusal("invalidRange"));
      });

      it("streams a large body without holding it, digests on the way", async () => {
        const block = randomBytes(1024 * 1024);
        const hashes = { md5: createHash("md5"), sha512: createHash("sha512") };
        for (let i = 0; i < 24; i++) for (const hash of Object.values(hashes)) hash.update(block);
        const sums = { md5: hashes.md5.digest("hex"), sha512: hashes.sha512.digest("hex") };
        const object = await put("large", stream(Array.from({ length: 24 }, () => block)), { size: 24 * block.length, checksums: { sha512: sums.sha512.toUpperCase() } });
        assert.deepEqual([object.size, object.etag, object.checksums], [24 * block.length, sums.md5, sums]);
        const found = await r2.get(bucket, "large", { range: { offset: 5 * block.length + 7, length: 2 * block.length } });
        assert.ok((await buffer(found!.body!)).equals(Buffer.concat([block.subarray(7), block, block.subarray(0, 7)])));
      });

      it("checks each checksum that is given, and stores nothing when one differs", async () => {
        for (const [algorithm, name] of [["md5", "MD5"], ["sha1", "SHA-1"], ["sha256", "SHA-256"], ["sha384", "SHA-384"], ["sha512", "SHA-512"]] as const) {
          const right = createHash(algorithm).update("value").digest("hex");
          assert.deepEqual((await put("key", "value", { checksums: { [algorithm]: right } })).checksums, { md5: md5("value"), [algorithm]: right });
          const wrong = right.replace(/./, (digit) => (digit === "0" ? "1" : "0"));
          await assert.rejects(put("key", "value", { checksums: { [algorithm]: wrong } }), {
            code: 10037,
            message: `The ${name} checksum you specified did not match what we received.\nYou provided a ${name} checksum with value: ${wrong}\nActual ${name} was: ${right}`,
          });
        }
        assert.equal((await blobs()).length, 1);
      });

      it("refuses a body of another size than announced, and stores nothing of it", async () => {
        await put("key", "before");
        for (const body of [Buffer.from("12345"), stream(["123", "45"].map(Buffer.from))])
          for (const size of [4, 6]) await assert.rejects(put("key", body, { size }), refusal("incompleteBody"));
        const small = createR2Buckets({ ...fixture, limits: { uploadBytes: 4 } });
        await assert.rejects(small.put(bucket, "key", Buffer.from("12345")), refusal("entityTooLarge"));
        await assert.rejects(small.put(bucket, "key", stream([Buffer.from("12345")])), refusal("entityTooLarge"));
        await assert.rejects(put("key", stream([]), { size: 6 * 1024 ** 3 }), refusal("entityTooLarge"));
        assert.equal(await get("key"), "before");
        assert.equal((await blobs()).length, 1);
      });

      it("stores nothing when the source of the body fails", async () => {
        const broken = async function* () {
          yield Buffer.from("half");
          throw new Error("the line went dead");
        };
        await assert.rejects(put("key", broken()), { message: "the line went dead" });
        assert.deepEqual([await r2.head(bucket, "key"), await blobs()], [undefined, []]);
      });

      it("keeps the bytes when nobody knows whether the commit went through, and the sweep decides", async () => {
        const lost = () => Promise.reject(new Error("the database went away"));
        const broken = createR2Buckets({ ...fixture, db: { ...fixture.db, write: lost, transaction: lost } });
        await put("there", "before");
        for (const key of ["there", "new"]) await assert.rejects(broken.put(bucket, key, Buffer.from("x")), { message: "the database went away" });
        assert.equal((await blobs()).length, 3);
        assert.deepEqual([await get("there"), await get("new")], ["before", undefined]);
        clock.advance(25 * HOUR);
        await r2.sweep();
        assert.equal((await blobs()).length, 1);
      });

      it("refuses bad names and oversized metadata", async () => {
        await assert.rejects(put("x".repeat(1025)), refusal("invalidObjectName"));
        await assert.rejects(put("a\0"), refusal("invalidObjectName"));
        await assert.rejects(r2.head("No Bucket", "key"), refusal("invalidBucketName"));
        await assert.rejects(put("key", "", { customMetadata: { key: "x".repeat(2046) } }), refusal("metadataTooLarge"));
        assert.deepEqual(await blobs(), []);
      });
    });

    describe("conditions", () => {
      it("get gives the object without its body when they do not hold", async () => {
        const object = await put("key");
        const { body, ...rest } = (await r2.get(bucket, "key", { onlyIf: { etagDoesNotMatch: [{ type: "strong", value: object.etag }] } }))!;
        assert.deepEqual([rest, body], [{ object, range: { offset: 0, length: 5 } }, undefined]);
        assert.equal(await get("key", { onlyIf: { etagMatches: [{ type: "strong", value: object.etag }], uploadedAfter: new Date(clock.now() - 1) } }), "value");
      });

      it("put stores only when they hold", async () => {
        const absent = { onlyIf: { etagDoesNotMatch: [{ type: "wildcard" as const }] } };
        const { etag } = await put("key", "1", absent);
        await assert.rejects(put("key", "2", absent), refusal("preconditionFailed"));
        await assert.rejects(put("other", "2", { onlyIf: { etagMatches: [{ type: "strong", value: etag }] } }), refusal("preconditionFailed"));
        assert.equal(await get("key"), "1");
        await put("key", "2", { onlyIf: { etagMatches: [{ type: "strong", value: etag }] } });
        assert.equal(await get("key"), "2");
        assert.equal((await blobs()).length, 1);
      });

      it("of many that may only create, one does; of many that may only replace one version, one does", async () => {
        const race = async (round: string, options: PutOptions) => {
          const results = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => put("key", `${round} ${i}`, options)));
          const lost = results.filter((result) => result.status === "rejected");
          for (const { reason } of lost) refusal("preconditionFailed")(reason);
          assert.equal(lost.length, 11);
          return results.find((result) => result.status === "fulfilled")!.value;
        };
        const first = await race("first", { onlyIf: { etagDoesNotMatch: [{ type: "wildcard" }] } });
        const second = await race("second", { onlyIf: { etagMatches: [{ type: "strong", value: first.etag }] } });
        assert.deepEqual(await r2.head(bucket, "key"), second);
        assert.deepEqual(await blobs(), [second.version]);
      });
    });

    describe("overwriting and deleting", () => {
      it("removes the bytes that are no longer wanted", async () => {
        await put("a", "1");
        const a = await put("a", "2");
        await put("b");
        await put("c");
        assert.equal((await blobs()).length, 3);
        await r2.delete(bucket, ["b", "absent", "c", "c"]);
        assert.deepEqual(await blobs(), [a.version]);
        assert.deepEqual(await keys(), ["a"]);
      });

      it("takes 1 to 1000 keys, all or none", async () => {
        const many = Array.from({ length: 1000 }, (_, i) => `${i}`);
        for (const key of many.slice(0, 30)) await put(key);
        await assert.rejects(r2.delete(bucket, []), refusal("invalidKeyCount"));
        await assert.rejects(r2.delete(bucket, [...many, "1000"]), refusal("invalidKeyCount"));
        await assert.rejects(r2.delete(bucket, ["0", "x".repeat(1025)]), refusal("invalidObjectName"));
        assert.equal((await keys()).length, 30);
        await r2.delete(bucket, many);
        assert.deepEqual([await keys(), await blobs()], [[], []]);
      });

      it("a reader finishes the version it opened", async () => {
        const old = randomBytes(3 * 1024 * 1024);
        await put("key", old);
        const [one, two] = [(await r2.get(bucket, "key"))!, (await r2.get(bucket, "key", { range: { offset: 1024 * 1024 } }))!];
        await put("key", "new");
        assert.equal(await get("key"), "new");
        assert.equal((await blobs()).length, 2);
        assert.ok((await buffer(one.body!)).equals(old));
        assert.equal((await blobs()).length, 2);
        await r2.delete(bucket, ["key"]);
        assert.ok((await buffer(two.body!)).equals(old.subarray(1024 * 1024)));
        await nextTurn();
        assert.deepEqual(await blobs(), []);
      });

      it("a reader that gives up lets the bytes go", async () => {
        await put("key", randomBytes(1024 * 1024));
        const { body } = (await r2.get(bucket, "key"))!;
        await r2.delete(bucket, ["key"]);
        const closed = new Promise((resolve) => body!.once("close", resolve));
        body!.destroy();
        await closed;
        assert.deepEqual(await blobs(), []);
      });

      it("readers among writers see one whole version or another", async () => {
        const versions = Array.from({ length: 8 }, (_, i) => Buffer.alloc(100_000 + i, i));
        await put("key", versions[0]!);
        const write = async (from: number) => {
          for (let i = 0; i < 10; i++) await put("key", versions[(from + i) % versions.length]!);
        };
        const read = async () => {
          for (let i = 0; i < 20; i++) {
            const seen = await buffer((await r2.get(bucket, "key"))!.body!);
            assert.ok(versions.some((version) => version.equals(seen)));
          }
        };
        await Promise.all([write(0), write(3), read(), read(), read()]);
        assert.equal((await blobs()).length, 1);
      });
    });

    describe("list", () => {
      it("is in the byte order of the keys, whatever their script", async () => {
        const some = ["b", "a", "B", "é", "z", "\uffee", "🙂", "a/b", "a-b", "a "];
        for (const key of some) await put(key);
        assert.deepEqual(await keys(), some.toSorted(byBytes));
      });

      it("comes in pages that neither repeat nor skip, also when keys are written meanwhile", async () => {
        for (const key of ["key1", "key3", "key5", "other"]) await put(key);
        const first = await r2.list(bucket, { prefix: "key", limit: 2 });
        assert.deepEqual([first.objects.map(({ key }) => key), typeof first.cursor], [["key1", "key3"], "string"]);
        for (const key of ["key2", "key4"]) await put(key);
        await r2.delete(bucket, ["key3"]);
        const second = await r2.list(bucket, { prefix: "key", limit: 2, cursor: first.cursor });
        assert.deepEqual([second.objects.map(({ key }) => key), second.cursor], [["key4", "key5"], undefined]);
      });

      it("begins after startAfter, or after the cursor where that is later", async () => {
        for (const key of ["a", "b", "c", "d"]) await put(key);
        const page = await r2.list(bucket, { startAfter: "a", limit: 1 });
        assert.deepEqual(page.objects.map(({ key }) => key), ["b"]);
        assert.deepEqual((await r2.list(bucket, { startAfter: "a", cursor: page.cursor })).objects.map(({ key }) => key), ["c", "d"]);
        assert.deepEqual((await r2.list(bucket, { startAfter: "c", cursor: page.cursor })).objects.map(({ key }) => key), ["d"]);
        assert.deepEqual((await r2.list(bucket, { startAfter: "zz" })).objects, []);
      });

      it("folds keys at the delimiter after the prefix", async () => {
        for (const key of ["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f", "top", "top2"]) await put(key);
        const list = async (options: object) => {
          const { objects, delimitedPrefixes, cursor } = await r2.list(bucket, options);
          return [objects.map(({ key }) => key), delimitedPrefixes, cursor !== undefined];
        };
        assert.deepEqual(await list({ delimiter: "/" }), [["top", "top2"], ["dir0/", "dir1/"], false]);
        assert.deepEqual(await list({ delimiter: "/", prefix: "dir0/" }), [["dir0/a", "dir0/b"], ["dir0/sub0/", "dir0/sub1/"], false]);
        assert.deepEqual(await list({ delimiter: "/", prefix: "dir0" }), [[], ["dir0/"], false]);
        assert.deepEqual(await list({ delimiter: "top" }), [["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f"], ["top"], false]);
        assert.deepEqual(await list({ delimiter: "/", startAfter: "dir0/z" }), [["top", "top2"], ["dir1/"], false]);
        assert.deepEqual(await list({ delimiter: "" , limit: 8 }), [["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f", "top", "top2"], [], false]);
        const first = await r2.list(bucket, { delimiter: "/", limit: 1 });
        assert.deepEqual([first.delimitedPrefixes, first.objects], [["dir0/"], []]);
        await put("dir0/late");
        assert.deepEqual(await list({ delimiter: "/", cursor: first.cursor }), [["top", "top2"], ["dir1/"], false]);
      });

      it("shows metadata when asked to", async () => {
        const object = await put("key", "value", { httpMetadata: { contentType: "a/b" }, customMetadata: { c: "d" } });
        const { httpMetadata, customMetadata, ...rest } = object;
        assert.deepEqual((await r2.list(bucket)).objects, [rest]);
        assert.deepEqual((await r2.list(bucket, { include: ["httpMetadata"] })).objects, [{ ...rest, httpMetadata }]);
        assert.deepEqual((await r2.list(bucket, { include: ["customMetadata"] })).objects, [{ ...rest, customMetadata }]);
        assert.deepEqual((await r2.list(bucket, { include: ["customMetadata", "httpMetadata"] })).objects, [object]);
      });

      it("ends a page early rather than making it too large", async () => {
        const small = createR2Buckets({ ...fixture, limits: { pageBytes: 2000 } });
        const all = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(600));
        for (const key of all) await put(key);
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await small.list(bucket, { cursor });
          assert.ok(page.objects.length >= 1 && page.objects.length <= 2);
          seen.push(...page.objects.map(({ key }) => key));
          cursor = page.cursor;
        } while (cursor);
        assert.deepEqual(seen, all);
      });

      it("refuses limits outside 1 to 1000 and cursors it did not give", async () => {
        for (const limit of [0, 1001, -1, 1.5, Number.NaN]) await assert.rejects(r2.list(bucket, { limit }), refusal("invalidMaxKeys"));
        for (const cursor of ["", "bad", "a2tleQ==", "eGtleQ"]) await assert.rejects(r2.list(bucket, { cursor }), refusal("invalidArgument"), cursor);
      });
    });

    describe("multipart uploads", () => {
      const parts = ["a".repeat(PART), "b".repeat(PART), "c"];

      it("become one object made of the parts", async () => {
        const options = { httpMetadata: { contentType: "text/plain" }, customMetadata: { k: "v" }, storageClass: "InfrequentAccess" as const };
        const ref = await r2.createUpload(bucket, "key", options);
        const uploaded = [];
        for (const [index, part] of parts.entries()) uploaded.push(await r2.uploadPart(bucket, ref, index + 1, stream([Buffer.from(part)]), { size: part.length }));
        assert.deepEqual(uploaded, parts.map((part, index) => ({ partNumber: index + 1, etag: md5(part) })));
        assert.equal(await r2.head(bucket, "key"), undefined);
        assert.deepEqual(await keys(), []);

        const object = await r2.completeUpload(bucket, ref, uploaded);
        const etag = `${createHash("md5").update(Buffer.concat(parts.map((part) => createHash("md5").update(part).digest()))).digest("hex")}-3`;
        assert.deepEqual(object, { key: "key", version: object.version, size: 2 * PART + 1, etag, uploaded: new Date(clock.now()), checksums: {}, ...options });
        assert.deepEqual(await r2.head(bucket, "key"), object);
        assert.deepEqual((await r2.list(bucket, { include: ["httpMetadata", "customMetadata"] })).objects, [object]);
        assert.equal(await get("key"), parts.join(""));
        for (const [offset, length] of [[0, 1], [10, PART], [PART - 1, 2], [PART, PART], [2 * PART, 1], [2 * PART - 1, 2], [5, 2 * PART - 5]] as const)
          assert.equal(await get("key", { range: { offset, length } }), parts.join("").slice(offset, offset + length));
      });

      it("sort their parts by number, and take numbers with gaps, one part, or none", async () => {
        const gaps = await upload("gaps", ["22".repeat(PART), "9", "55".repeat(PART)], [2, 9, 5]);
        assert.equal((await r2.completeUpload(bucket, gaps.ref, gaps.uploaded)).size, 4 * PART + 1);
        assert.equal(await get("gaps", { range: { offset: 3 * PART } }), `${"5".repeat(PART)}9`);
        const single = await upload("single", ["x"]);
        assert.match((await r2.completeUpload(bucket, single.ref, single.uploaded)).etag, /-1$/);
        const none = await upload("none", []);
        assert.deepEqual(await r2.completeUpload(bucket, none.ref, []).then(({ size, etag }) => [size, etag]), [0, "d41d8cd98f00b204e9800998ecf8427e-0"]);
        assert.equal(await get("none"), "");
      });

      it("keep only the parts that completion names", async () => {
        const { ref, uploaded } = await upload("key", parts);
        const again = await r2.uploadPart(bucket, ref, 1, Buffer.from("d".repeat(PART)));
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("invalidPart"));
        await r2.completeUpload(bucket, ref, [again, uploaded[2]!]);
        assert.equal(await get("key"), `${"d".repeat(PART)}c`);
        assert.equal((await blobs()).length, 2);
      });

      it("are refused with the reason when the parts do not fit", async () => {
        const { ref, uploaded } = await upload("key", [...parts, "e".repeat(PART + 1)]);
        const [one, two, short, long] = uploaded as [typeof uploaded[0], typeof uploaded[0], typeof uploaded[0], typeof uploaded[0]];
        const refused = (list: object[], kind: Kind) => assert.rejects(r2.completeUpload(bucket, ref, list as never), refusal(kind), JSON.stringify(list));
        await refused([one, short, long], "entityTooSmall");
        await refused([one, long], "unequalParts");
        await refused([one, two, long], "unequalParts");
        await refused([one, one], "invalidPart");
        await refused([one, { partNumber: 2, etag: one!.etag }], "invalidPart");
        await refused([one, { partNumber: 77, etag: one!.etag }], "invalidPart");
        await r2.completeUpload(bucket, ref, [one!, two!, short!]);
      });

      it("of different sizes are refused even where each is large enough", async () => {
        const { ref, uploaded } = await upload("key", ["a".repeat(PART), "b".repeat(PART + 1), "c"]);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("unequalParts"));
        const tiny = createR2Buckets({ ...fixture, limits: { minimumPartBytes: 1, objectBytes: 2 * PART } });
        const large = await upload("large", ["a".repeat(PART), "b".repeat(PART), "c"]);
        await assert.rejects(tiny.completeUpload(bucket, large.ref, large.uploaded), refusal("entityTooLarge"));
      });

      it("exist for their own key only, until they are finished", async () => {
        const { ref, uploaded } = await upload("key", ["x"]);
        for (const wrong of [{ key: "other", uploadId: ref.uploadId }, { key: "key", uploadId: "bad" }]) {
          await assert.rejects(r2.uploadPart(bucket, wrong, 1, Buffer.from("x")), refusal("noSuchUpload"));
          await assert.rejects(r2.completeUpload(bucket, wrong, uploaded), refusal("noSuchUpload"));
          await assert.rejects(r2.abortUpload(bucket, wrong), refusal("noSuchUpload"));
        }
        for (const number of [0, 10_001, 1.5]) await assert.rejects(r2.uploadPart(bucket, ref, number, Buffer.from("x")), refusal("invalidArgument"));
        await r2.completeUpload(bucket, ref, uploaded);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("noSuchUpload"));
        await assert.rejects(r2.uploadPart(bucket, ref, 2, Buffer.from("x")), refusal("noSuchUpload"));
        await r2.abortUpload(bucket, ref);
        assert.equal(await get("key"), "x");
        assert.equal((await blobs()).length, 1);
      });

      it("that are aborted leave nothing, and can be aborted again", async () => {
        await put("key", "before");
        const { ref, uploaded } = await upload("key", parts);
        await r2.abortUpload(bucket, ref);
        await r2.abortUpload(bucket, ref);
        await assert.rejects(r2.completeUpload(bucket, ref, uploaded), refusal("noSuchUpload"));
        await assert.rejects(r2.uploadPart(bucket, ref, 4, Buffer.from("x")), refusal("noSuchUpload"));
        assert.equal(await get("key"), "before");
        assert.equal((await blobs()).length, 1);
      });

      it("are not disturbed by puts and deletes of their key, which remove them once completed", async () => {
        const first = await upload("key", parts);
        await put("key");
        await r2.delete(bucket, ["key"]);
        await r2.completeUpload(bucket, first.ref, first.uploaded);
        const second = await upload("key", ["second"]);
        await r2.completeUpload(bucket, second.ref, second.uploaded);
        assert.equal((await blobs()).length, 1);
        await put("key", "plain");
        assert.equal((await blobs()).length, 1);
        const third = await upload("key", parts);
        await r2.completeUpload(bucket, third.ref, third.uploaded);
        await r2.delete(bucket, ["key"]);
        assert.deepEqual(await blobs(), []);
      });

      it("are read to the end by who opened them before they went", async () => {
        const { ref, uploaded } = await upload("key", parts);
        await r2.completeUpload(bucket, ref, uploaded);
        const [whole, tail] = [(await r2.get(bucket, "key"))!, (await r2.get(bucket, "key", { range: { offset: PART } }))!];
        await r2.delete(bucket, ["key"]);
        assert.equal((await blobs()).length, 3);
        assert.equal(await textOf(tail), parts.slice(1).join(""));
        assert.equal(await textOf(whole), parts.join(""));
        await nextTurn();
        assert.deepEqual(await blobs(), []);
      });

      it("complete once when completed twice at the same time, and never while a part replaces another", async () => {
        const { ref, uploaded } = await upload("key", ["x"]);
        const both = await Promise.allSettled([r2.completeUpload(bucket, ref, uploaded), r2.completeUpload(bucket, ref, uploaded), r2.uploadPart(bucket, ref, 1, Buffer.from("y"))]);
        assert.equal(both.slice(0, 2).filter(({ status }) => status === "fulfilled").length <= 1, true);
        if (await r2.head(bucket, "key")) assert.equal(await get("key"), "x");
        assert.equal((await blobs()).length, 1);
      });
    });

    describe("the sweep", () => {
      const orphan = (blob: string) => fixture.objects.put(`r2/${bucket}/${blob}`, Buffer.from("left behind"));

      it("deletes bytes that never got a row, but not while a put could still be writing it", async () => {
        const object = await put("key");
        const { uploaded } = await upload("open", ["x"]);
        assert.equal(uploaded.length, 1);
        await orphan("f".repeat(32));
        await r2.sweep();
        assert.equal((await blobs()).length, 3);
        clock.advance(25 * HOUR);
        const swept = await r2.sweep();
        assert.equal(swept.finished, true);
        const left = await blobs();
        assert.equal(left.length, 2);
        assert.ok(left.includes(object.version));
        assert.equal(await get("key"), "value");
      });

      it("works in pieces and goes on where it was", async () => {
        for (let i = 0; i < 5; i++) await orphan(`${i}`.repeat(32));
        clock.advance(25 * HOUR);
        for (let round = 0; ; round++) {
          const { examined, finished } = await r2.sweep({ limit: 2 });
          assert.ok(examined <= 2 && round < 100);
          if (finished) break;
        }
        await r2.sweep();
        assert.deepEqual(await blobs(), []);
      });

      it("deletes what other processes were given time to read", async () => {
        const shared = createR2Buckets({ ...fixture, clock, removeAtOnce: false });
        const { version } = await put("key", "old");
        await shared.put(bucket, "key", Buffer.from("new"));
        assert.ok((await blobs()).includes(version));
        clock.advance(HOUR / 2);
        await shared.sweep();
        assert.equal((await blobs()).length, 2);
        clock.advance(HOUR);
        assert.ok((await shared.sweep()).deleted >= 1);
        assert.equal((await blobs()).length, 1);
        assert.equal((await fixture.db.tables<{ r2_removed: { bucket: string } }>().selectFrom("r2_removed").selectAll().where("bucket", "=", bucket).execute()).length, 0);
      });

      it("does not take the bytes from under a reader of this process", async () => {
        const { ref, uploaded } = await upload("parts", ["a".repeat(PART), "b"]);
        await r2.completeUpload(bucket, ref, uploaded);
        await put("plain", "p".repeat(3_000_000));
        const readers = [(await r2.get(bucket, "parts"))!, (await r2.get(bucket, "plain"))!];
        await r2.delete(bucket, ["parts", "plain"]);
        clock.advance(48 * HOUR);
        await r2.sweep();
        assert.deepEqual(await Promise.all(readers.map(textOf)), [`${"a".repeat(PART)}b`, "p".repeat(3_000_000)]);
      });

      it("aborts uploads nobody finished within a week, and then forgets them", async () => {
        const { ref } = await upload("key", ["x"]);
        clock.advance(6 * 24 * HOUR);
        await r2.sweep();
        await r2.uploadPart(bucket, ref, 2, Buffer.from("y"));
        clock.advance(2 * 24 * HOUR);
        assert.ok((await r2.sweep()).aborted >= 1);
        await assert.rejects(r2.uploadPart(bucket, ref, 3, Buffer.from("z")), refusal("noSuchUpload"));
        assert.deepEqual(await blobs(), []);
        await r2.abortUpload(bucket, ref);
        clock.advance(8 * 24 * HOUR);
        await r2.sweep();
        await assert.rejects(r2.abortUpload(bucket, ref), refusal("noSuchUpload"));
      });
    });
  });
}

type Kind = Exclude<keyof typeof r2Errors, "table">;

/** The error of that kind, with the code and text of the table. */
const refusal = (kind: Kind) => (err: unknown) => {
  const { domain, kind: found, code } = err as UserError;
  assert.deepEqual([domain, found, code], ["r2", kind, r2Errors.table[kind].code]);
  return true;
};

const md5 = (value: string) => createHash("md5").update(value).digest("hex");
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const textOf = async (found: FoundObject | undefined) => (found?.body ? text(found.body) : undefined);

async function drained(found: FoundObject | undefined) {
  found?.body?.resume();
  return found;
}

async function* stream(chunks: Uint8Array[]) {
  yield* chunks;
}
