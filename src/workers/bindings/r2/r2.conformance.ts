import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createR2Buckets } from "./buckets.ts";
import { byBytes, bytesOf, HOUR, md5, r2Tests, refusal, stream, textOf } from "./fixture.conformance.ts";
import type { R2PutOptions } from "./object.ts";

/** Behavior of R2 on every database engine: objects, conditions, overwriting, lists. */
export function r2Conformance(engine: TestEngine): void {
  describe("R2", () => {
    const it = r2Tests(engine);

    describe("put, get, head", () => {
      it("returns stored objects unchanged", async ({ r2, bucket, clock, put }) => {
        const httpMetadata = {
          contentType: "text/plain",
          contentLanguage: "en",
          contentDisposition: "inline",
          contentEncoding: "gzip",
          cacheControl: "max-age=1",
          cacheExpiry: new Date("2030-01-01"),
        };
        const customMetadata = { a: "1", ü: "🙂\0", ["__proto__"]: "own" };
        const object = await put("key", "value", { httpMetadata, customMetadata, storageClass: "InfrequentAccess" });
        assert.deepEqual(object, {
          key: "key",
          version: object.version,
          size: 5,
          etag: md5("value"),
          uploaded: new Date(clock.now()),
          httpMetadata,
          customMetadata,
          storageClass: "InfrequentAccess",
          checksums: { md5: md5("value") },
        });
        assert.match(object.version, /^[0-9a-f]{32}$/);
        assert.deepEqual(await r2.head(bucket, "key"), object);
        const found = await r2.get(bucket, "key");
        assert.deepEqual([found!.object, found!.range], [object, { offset: 0, length: 5 }]);
        assert.equal(await textOf(found), "value");
      });

      it("does not return absent keys or objects of other buckets", async ({ r2, bucket, put }) => {
        await put("key");
        assert.equal(await r2.head(bucket, "other"), undefined);
        assert.equal(await r2.get(bucket, "other"), undefined);
        assert.equal(await r2.head(`${bucket}-x`, "key"), undefined);
      });

      it("stores empty objects, the empty key and keys of every kind separately", async ({ put, get, keys }) => {
        const strange = [
          "",
          " ",
          "a/../b",
          "a",
          "A",
          "a ",
          "é",
          "e\u0301",
          "🙂",
          "%",
          "_",
          "'",
          '"',
          "\\",
          "\n",
          "x".repeat(1024),
        ];
        for (const key of strange) await put(key, key === "a" ? "" : `of ${key}`);
        for (const key of strange) assert.equal(await get(key), key === "a" ? "" : `of ${key}`);
        assert.deepEqual(await keys(), strange.toSorted(byBytes));
      });

      it("reads ranges", async ({ r2, bucket, put, get }) => {
        await put("key", "0123456789");
        assert.equal(await get("key", { range: { offset: 3 } }), "3456789");
        assert.equal(await get("key", { range: { offset: 3, length: 2 } }), "34");
        assert.equal(await get("key", { range: { suffix: 2 } }), "89");
        assert.equal(await get("key", { range: { header: "bytes=1-2" } }), "12");
        const whole = await r2.get(bucket, "key", { range: { suffix: 99 } });
        assert.deepEqual([whole?.range, await textOf(whole)], [{ offset: 0, length: 10 }, "0123456789"]);
        await assert.rejects(r2.get(bucket, "key", { range: { offset: 10 } }), refusal("invalidRange"));
      });

      it("streams a large body without buffering it, with digests computed on the way", async ({ r2, bucket, put }) => {
        const block = randomBytes(1024 * 1024);
        const hashes = { md5: createHash("md5"), sha512: createHash("sha512") };
        for (let i = 0; i < 24; i++) for (const hash of Object.values(hashes)) hash.update(block);
        const sums = { md5: hashes.md5.digest("hex"), sha512: hashes.sha512.digest("hex") };
        const object = await put("large", stream(Array.from({ length: 24 }, () => block)), {
          size: 24 * block.length,
          checksums: { sha512: sums.sha512.toUpperCase() },
        });
        assert.deepEqual([object.size, object.etag, object.checksums], [24 * block.length, sums.md5, sums]);
        const found = await r2.get(bucket, "large", {
          range: { offset: 5 * block.length + 7, length: 2 * block.length },
        });
        assert.ok((await bytesOf(found))!.equals(Buffer.concat([block.subarray(7), block, block.subarray(0, 7)])));
      });

      it("checks every given checksum, and stores nothing if one differs", async ({ put, blobs }) => {
        for (const [algorithm, name] of [
          ["md5", "MD5"],
          ["sha1", "SHA-1"],
          ["sha256", "SHA-256"],
          ["sha384", "SHA-384"],
          ["sha512", "SHA-512"],
        ] as const) {
          const right = createHash(algorithm).update("value").digest("hex");
          assert.deepEqual((await put("key", "value", { checksums: { [algorithm]: right } })).checksums, {
            md5: md5("value"),
            [algorithm]: right,
          });
          const wrong = right.replace(/./, (digit) => (digit === "0" ? "1" : "0"));
          await assert.rejects(put("key", "value", { checksums: { [algorithm]: wrong } }), {
            code: 10037,
            message: `The ${name} checksum you specified did not match what we received.\nYou provided a ${name} checksum with value: ${wrong}\nActual ${name} was: ${right}`,
          });
        }
        assert.equal((await blobs()).length, 1);
      });

      it("rejects a body whose size differs from the declared one, and stores none of it", async ({
        bucket,
        stores,
        put,
        get,
        blobs,
      }) => {
        await put("key", "before");
        for (const body of [Buffer.from("12345"), stream(["123", "45"].map(Buffer.from))])
          for (const size of [4, 6]) await assert.rejects(put("key", body, { size }), refusal("incompleteBody"));
        const small = createR2Buckets({ ...stores, limits: { uploadBytes: 4 } });
        await assert.rejects(small.put(bucket, "key", Buffer.from("12345")), refusal("entityTooLarge"));
        await assert.rejects(small.put(bucket, "key", stream([Buffer.from("12345")])), refusal("entityTooLarge"));
        await assert.rejects(put("key", stream([]), { size: 6 * 1024 ** 3 }), refusal("entityTooLarge"));
        assert.equal(await get("key"), "before");
        assert.equal((await blobs()).length, 1);
      });

      it("stores nothing if the source of the body fails", async ({ r2, bucket, put, blobs }) => {
        const broken = async function* () {
          yield Buffer.from("half");
          throw new Error("connection lost");
        };
        await assert.rejects(put("key", broken()), { message: "connection lost" });
        assert.deepEqual([await r2.head(bucket, "key"), await blobs()], [undefined, []]);
      });

      it("keeps the bytes if the outcome of the commit is unknown, and leaves them to garbage collection", async ({
        r2,
        bucket,
        clock,
        stores,
        put,
        get,
        blobs,
      }) => {
        const lost = () => Promise.reject(new Error("the database went away"));
        const broken = createR2Buckets({ ...stores, db: { ...stores.db, write: lost, transaction: lost } });
        await put("there", "before");
        for (const key of ["there", "new"])
          await assert.rejects(broken.put(bucket, key, Buffer.from("x")), { message: "the database went away" });
        assert.equal((await blobs()).length, 3);
        assert.deepEqual([await get("there"), await get("new")], ["before", undefined]);
        clock.advance(25 * HOUR);
        await r2.sweep();
        assert.equal((await blobs()).length, 1);
      });

      it("rejects bad names and oversized metadata", async ({ r2, put, blobs }) => {
        await assert.rejects(put("x".repeat(1025)), refusal("invalidObjectName"));
        await assert.rejects(put("a\0"), refusal("invalidObjectName"));
        await assert.rejects(r2.head("No Bucket", "key"), refusal("invalidBucketName"));
        await assert.rejects(
          put("key", "", { customMetadata: { key: "x".repeat(8190) } }),
          refusal("metadataTooLarge"),
        );
        assert.deepEqual(await blobs(), []);
      });
    });

    describe("conditions", () => {
      it("get returns the object without its body if the conditions do not hold", async ({
        r2,
        bucket,
        clock,
        put,
        get,
      }) => {
        const object = await put("key");
        const { body, ...rest } = (await r2.get(bucket, "key", {
          onlyIf: { etagDoesNotMatch: [{ type: "strong", value: object.etag }] },
        }))!;
        assert.deepEqual([rest, body], [{ object, range: { offset: 0, length: 5 } }, undefined]);
        assert.equal(
          await get("key", {
            onlyIf: { etagMatches: [{ type: "strong", value: object.etag }], uploadedAfter: new Date(clock.now() - 1) },
          }),
          "value",
        );
      });

      it("put stores the object only if the conditions hold", async ({ put, get, blobs }) => {
        const absent = { onlyIf: { etagDoesNotMatch: [{ type: "wildcard" as const }] } };
        const { etag } = await put("key", "1", absent);
        await assert.rejects(put("key", "2", absent), refusal("preconditionFailed"));
        await assert.rejects(
          put("other", "2", { onlyIf: { etagMatches: [{ type: "strong", value: etag }] } }),
          refusal("preconditionFailed"),
        );
        assert.equal(await get("key"), "1");
        await put("key", "2", { onlyIf: { etagMatches: [{ type: "strong", value: etag }] } });
        assert.equal(await get("key"), "2");
        assert.equal((await blobs()).length, 1);
      });

      it("only one of many concurrent creations, or replacements of one version, succeeds", async ({
        r2,
        bucket,
        put,
        blobs,
      }) => {
        const race = async (round: string, options: R2PutOptions) => {
          const results = await Promise.allSettled(
            Array.from({ length: 12 }, (_, i) => put("key", `${round} ${i}`, options)),
          );
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
      it("deletes bytes that are no longer referenced", async ({ r2, bucket, put, keys, blobs }) => {
        await put("a", "1");
        const a = await put("a", "2");
        await put("b");
        await put("c");
        assert.equal((await blobs()).length, 3);
        await r2.delete(bucket, ["b", "absent", "c", "c"]);
        assert.deepEqual(await blobs(), [a.version]);
        assert.deepEqual(await keys(), ["a"]);
      });

      it("accepts 1 to 1000 keys, and deletes all or none", async ({ r2, bucket, put, keys, blobs }) => {
        const many = Array.from({ length: 1000 }, (_, i) => `${i}`);
        for (const key of many.slice(0, 30)) await put(key);
        await assert.rejects(r2.delete(bucket, []), refusal("invalidKeyCount"));
        await assert.rejects(r2.delete(bucket, [...many, "1000"]), refusal("invalidKeyCount"));
        await assert.rejects(r2.delete(bucket, ["0", "x".repeat(1025)]), refusal("invalidObjectName"));
        assert.equal((await keys()).length, 30);
        await r2.delete(bucket, many);
        assert.deepEqual([await keys(), await blobs()], [[], []]);
      });

      it("a reader finishes reading the version it opened", async ({ r2, bucket, put, get, blobs }) => {
        const old = randomBytes(3 * 1024 * 1024);
        await put("key", old);
        const [one, two] = [
          (await r2.get(bucket, "key"))!,
          (await r2.get(bucket, "key", { range: { offset: 1024 * 1024 } }))!,
        ];
        await put("key", "new");
        assert.equal(await get("key"), "new");
        assert.equal((await blobs()).length, 2);
        assert.ok((await bytesOf(one))!.equals(old));
        assert.equal((await blobs()).length, 2);
        await r2.delete(bucket, ["key"]);
        assert.ok((await bytesOf(two))!.equals(old.subarray(1024 * 1024)));
        assert.deepEqual(await blobs(), []);
      });

      it("a reader that stops early releases the bytes", async ({ r2, bucket, put, blobs }) => {
        await put("key", randomBytes(1024 * 1024));
        const { body } = (await r2.get(bucket, "key"))!;
        await r2.delete(bucket, ["key"]);
        const closed = new Promise((resolve) => body!.once("close", resolve));
        body!.destroy();
        await closed;
        assert.deepEqual(await blobs(), []);
      });

      it("reports bytes deleted by another process as an internal error", async ({ r2, bucket, stores, put }) => {
        for (const size of [10, 100_000]) {
          const { version } = await put("key", Buffer.alloc(size));
          await stores.objects.delete([`r2/${bucket}/${version}`]);
          await assert.rejects(r2.get(bucket, "key"), { name: "Fault" });
          await r2.delete(bucket, ["key"]);
        }
      });

      it("readers during concurrent writes see one complete version", async ({ r2, bucket, put, blobs }) => {
        const versions = Array.from({ length: 8 }, (_, i) => Buffer.alloc(100_000 + i, i));
        await put("key", versions[0]!);
        const write = async (from: number) => {
          for (let i = 0; i < 10; i++) await put("key", versions[(from + i) % versions.length]!);
        };
        const read = async () => {
          for (let i = 0; i < 20; i++) {
            const seen = (await bytesOf(await r2.get(bucket, "key")))!;
            assert.ok(versions.some((version) => version.equals(seen)));
          }
        };
        await Promise.all([write(0), write(3), read(), read(), read()]);
        assert.equal((await blobs()).length, 1);
      });
    });

    describe("list", () => {
      it("is in the byte order of the keys in every script", async ({ put, keys }) => {
        const some = ["b", "a", "B", "é", "z", "\uffee", "🙂", "a/b", "a-b", "a "];
        for (const key of some) await put(key);
        assert.deepEqual(await keys(), some.toSorted(byBytes));
      });

      it("has pages without duplicates or gaps, even if keys are written meanwhile", async ({ r2, bucket, put }) => {
        for (const key of ["key1", "key3", "key5", "other"]) await put(key);
        const first = await r2.list(bucket, { prefix: "key", limit: 2 });
        assert.deepEqual([first.objects.map(({ key }) => key), typeof first.cursor], [["key1", "key3"], "string"]);
        for (const key of ["key2", "key4"]) await put(key);
        await r2.delete(bucket, ["key3"]);
        const second = await r2.list(bucket, { prefix: "key", limit: 2, cursor: first.cursor });
        assert.deepEqual([second.objects.map(({ key }) => key), second.cursor], [["key4", "key5"], undefined]);
      });

      it("starts after startAfter, or after the cursor if that is later", async ({ r2, bucket, put }) => {
        for (const key of ["a", "b", "c", "d"]) await put(key);
        const page = await r2.list(bucket, { startAfter: "a", limit: 1 });
        assert.deepEqual(
          page.objects.map(({ key }) => key),
          ["b"],
        );
        assert.deepEqual(
          (await r2.list(bucket, { startAfter: "a", cursor: page.cursor })).objects.map(({ key }) => key),
          ["c", "d"],
        );
        assert.deepEqual(
          (await r2.list(bucket, { startAfter: "c", cursor: page.cursor })).objects.map(({ key }) => key),
          ["d"],
        );
        assert.deepEqual((await r2.list(bucket, { startAfter: "zz" })).objects, []);
      });

      it("groups keys at the delimiter after the prefix", async ({ r2, bucket, put }) => {
        for (const key of ["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f", "top", "top2"])
          await put(key);
        const list = async (options: object) => {
          const { objects, delimitedPrefixes, cursor } = await r2.list(bucket, options);
          return [objects.map(({ key }) => key), delimitedPrefixes, cursor !== undefined];
        };
        assert.deepEqual(await list({ delimiter: "/" }), [["top", "top2"], ["dir0/", "dir1/"], false]);
        assert.deepEqual(await list({ delimiter: "/", prefix: "dir0/" }), [
          ["dir0/a", "dir0/b"],
          ["dir0/sub0/", "dir0/sub1/"],
          false,
        ]);
        assert.deepEqual(await list({ delimiter: "/", prefix: "dir0" }), [[], ["dir0/"], false]);
        assert.deepEqual(await list({ delimiter: "top" }), [
          ["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f"],
          ["top"],
          false,
        ]);
        assert.deepEqual(await list({ delimiter: "/", startAfter: "dir0/z" }), [["top", "top2"], ["dir1/"], false]);
        assert.deepEqual(await list({ delimiter: "", limit: 8 }), [
          ["dir0/a", "dir0/b", "dir0/sub0/c", "dir0/sub1/d", "dir0/sub1/e", "dir1/f", "top", "top2"],
          [],
          false,
        ]);
        const first = await r2.list(bucket, { delimiter: "/", limit: 1 });
        assert.deepEqual([first.delimitedPrefixes, first.objects], [["dir0/"], []]);
        await put("dir0/late");
        assert.deepEqual(await list({ delimiter: "/", cursor: first.cursor }), [["top", "top2"], ["dir1/"], false]);
      });

      it("includes metadata on request", async ({ r2, bucket, put }) => {
        const object = await put("key", "value", { httpMetadata: { contentType: "a/b" }, customMetadata: { c: "d" } });
        const { httpMetadata, customMetadata, ...rest } = object;
        assert.deepEqual((await r2.list(bucket)).objects, [rest]);
        assert.deepEqual((await r2.list(bucket, { include: ["httpMetadata"] })).objects, [{ ...rest, httpMetadata }]);
        assert.deepEqual((await r2.list(bucket, { include: ["customMetadata"] })).objects, [
          { ...rest, customMetadata },
        ]);
        assert.deepEqual((await r2.list(bucket, { include: ["customMetadata", "httpMetadata"] })).objects, [object]);
      });

      it("ends a page early to limit its size", async ({ bucket, stores, put }) => {
        const small = createR2Buckets({ ...stores, limits: { pageBytes: 2000 } });
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

      it("rejects limits outside 1 to 1000 and invalid cursors", async ({ r2, bucket }) => {
        for (const limit of [0, 1001, -1, 1.5, Number.NaN])
          await assert.rejects(r2.list(bucket, { limit }), refusal("invalidMaxKeys"));
        for (const cursor of ["", "bad", "a2tleQ==", "eGtleQ"])
          await assert.rejects(r2.list(bucket, { cursor }), refusal("invalidArgument"), cursor);
      });
    });
  });
}
