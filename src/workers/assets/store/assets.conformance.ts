import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock } from "../../../kernel/clock.ts";
import { randomIds, type UserError } from "../../../kernel/index.ts";
import { createSecrets } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { scriptsMigrations, type ScriptsTables } from "../../scripts/schema.ts";
import { createAssets, type UploadedAsset } from "./assets.ts";
import { listManifest } from "./assets-table.ts";
import type { AssetManifest } from "./manifest.ts";
import { assetMigrations, type AssetTables } from "./schema.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const HOUR = 3600_000;

const kind = (wanted: string) => (err: UserError) => (assert.equal(err.kind, wanted, err.message), true);
const hashOf = (content: string) => createHash("sha256").update(content).digest("hex").slice(0, 32);
const manifestOf = (files: Record<string, string>): AssetManifest =>
  Object.fromEntries(
    Object.entries(files).map(([path, content]) => [path, { hash: hashOf(content), size: Buffer.byteLength(content) }]),
  );
const sent = (content: string, hash = hashOf(content)): UploadedAsset => ({
  hash,
  contentType: "text/html",
  bytes: Buffer.from(content),
});

async function start(engine: TestEngine, t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "assets-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { db } = await engine.open(t, [...scriptsMigrations, ...assetMigrations]);
  const objects = await openWriteOnceObjects({ folder });
  const clock = createManualClock(Date.now());
  const assets = createAssets({
    db,
    objects,
    secrets: createSecrets({ keys: [randomBytes(32)] }),
    clock,
    ids: randomIds,
  });
  const stored = async () => {
    const keys: string[] = [];
    for await (const { key } of objects.list("assets/")) keys.push(key);
    return keys;
  };
  /** Uploads all files and returns the id of their manifest. */
  async function upload(account: string, files: Record<string, string>): Promise<string> {
    const { token, buckets } = await assets.begin(account, manifestOf(files));
    const byHash = new Map(Object.values(files).map((content) => [hashOf(content), content]));
    let completion = buckets.length === 0 ? token : undefined;
    for (const bucket of buckets) {
      const session = assets.sessionOf(token)!;
      completion = (
        await assets.store(
          session,
          bucket.map((hash) => sent(byHash.get(hash)!)),
        )
      ).token;
    }
    return assets.manifestIdOfToken(account, completion!);
  }
  /** Assigns a manifest to a new version, and creates the row of that version. */
  const attach = (id: string, account: string, manifestId: string) =>
    db.transaction<ScriptsTables, void>(async (tx) => {
      await tx.insertInto("worker_versions").values(versionRow(id, account)).execute();
      await assets.attach(tx, { id, account }, { manifestId, config: { htmlHandling: "none" } });
    });
  const detach = (id: string) =>
    db.tables<ScriptsTables>().deleteFrom("worker_versions").where("id", "=", id).execute();
  return { db, assets, clock, objects, stored, upload, attach, detach };
}

const versionRow = (id: string, account: string): ScriptsTables["worker_versions"] => ({
  id,
  account_id: account,
  script_id: "s",
  number: Number.parseInt(hashOf(id).slice(0, 7), 16),
  created_at: 0,
  author: "{}",
  etag: "",
  format: "modules",
  main: "",
  bindings: "[]",
  handlers: "[]",
  compatibility_date: "2026-01-01",
  compatibility_flags: "[]",
  limits: null,
  annotations: "{}",
  startup_ms: 0,
  size: 0,
  has_assets: 1,
});

/** Tests asset uploads on every database engine. */
export function assetsConformance(engine: TestEngine): void {
  describe("assets", () => {
    test("a session lists each missing file once, and the last upload completes it", async (t) => {
      const { assets } = await start(engine, t);
      const files = { "/a.html": "a", "/b.html": "b", "/copy.html": "a" };
      const { token, buckets } = await assets.begin(A, manifestOf(files));
      assert.deepEqual(buckets.flat().toSorted(), [hashOf("a"), hashOf("b")].toSorted());
      const session = assets.sessionOf(token)!;
      assert.deepEqual(await assets.store(session, [sent("a")]), {});
      const { token: done } = await assets.store(session, [sent("b")]);
      assert.match(assets.manifestIdOfToken(A, done!), /^[0-9a-f]{32}$/);
      assert.throws(() => assets.manifestIdOfToken(A, token), kind("badCompletion"));
      assert.throws(() => assets.manifestIdOfToken(B, done!), kind("badCompletion"));
    });

    test("a later session lists only new files, and none if the server has them all", async (t) => {
      const { assets, upload } = await start(engine, t);
      const id = await upload(A, { "/a.html": "a" });
      const more = await assets.begin(A, manifestOf({ "/a.html": "a", "/b.html": "b" }));
      assert.deepEqual(more.buckets, [[hashOf("b")]]);
      const same = await assets.begin(A, manifestOf({ "/a.html": "a" }));
      assert.deepEqual([same.buckets, assets.manifestIdOfToken(A, same.token)], [[], id]);
      assert.equal((await assets.begin(B, manifestOf({ "/a.html": "a" }))).buckets.length, 1);
    });

    test("a file that the manifest does not contain is rejected", async (t) => {
      const { assets, stored } = await start(engine, t);
      const { token } = await assets.begin(A, manifestOf({ "/a.html": "a" }));
      const session = assets.sessionOf(token)!;
      await assert.rejects(assets.store(session, [sent("b")]), kind("badUpload"));
      await assert.rejects(assets.store(session, [sent("longer", hashOf("a"))]), kind("badUpload"));
      assert.deepEqual(await stored(), []);
    });

    test("different content for a hash that the account has already uploaded is rejected", async (t) => {
      const { assets, upload, stored } = await start(engine, t);
      const hash = hashOf("a");
      await upload(A, { "/a.html": "a" });
      const { token } = await assets.begin(A, {
        "/a.html": { hash, size: 1 },
        "/b.html": { hash: hashOf("b"), size: 1 },
      });
      await assert.rejects(assets.store(assets.sessionOf(token)!, [sent("x", hash)]), kind("badUpload"));
      assert.equal((await stored()).length, 1);
    });

    test("identical content is stored once for all hashes, paths and versions", async (t) => {
      const { assets, stored, upload, attach, db } = await start(engine, t);
      await attach("v1", A, await upload(A, { "/a.html": "a" }));
      const other = "0123456789abcdef0123456789abcdef";
      const { token } = await assets.begin(A, { "/a.txt": { hash: other, size: 1 } });
      const { token: done } = await assets.store(assets.sessionOf(token)!, [sent("a", other)]);
      const second = assets.manifestIdOfToken(A, done!);
      await attach("v2", A, second);
      assert.equal((await stored()).length, 1);
      const records = await listManifest(db.tables<AssetTables>(), { id: second, account: A });
      assert.deepEqual(
        records.map(({ path, hash, contentType }) => [path, hash, contentType]),
        [["/a.txt", other, "text/html"]],
      );
    });

    test("a version serves its files", async (t) => {
      const { db, objects, upload } = await start(engine, t);
      const id = await upload(A, { "/a.html": "content" });
      const [record] = await listManifest(db.tables<AssetTables>(), { id, account: A });
      assert.equal(await text((await objects.open(record!.objectKey))!.read()), "content");
    });

    test("a version cannot use an incomplete manifest", async (t) => {
      const { db, upload, attach } = await start(engine, t);
      const id = await upload(A, { "/a.html": "a", "/b.html": "b" });
      await db.tables<AssetTables>().deleteFrom("worker_asset_files").where("hash", "=", hashOf("b")).execute();
      await assert.rejects(attach("v1", A, id), kind("incomplete"));
      await assert.rejects(attach("v1", B, id), kind("incomplete"));
    });

    test("tokens expire after an hour and cannot be forged", async (t) => {
      const { assets, clock } = await start(engine, t);
      const { token } = await assets.begin(A, manifestOf({ "/a.html": "a" }));
      const [header, , signature] = token.split(".");
      const forged = Buffer.from(JSON.stringify({ acc: B, man: "x", use: "upload", exp: 9e9 })).toString("base64url");
      assert.equal(assets.sessionOf(`${header}.${forged}.${signature}`), undefined);
      assert.equal(assets.sessionOf("x"), undefined);
      assert.notEqual(assets.sessionOf(token), undefined);
      clock.advance(HOUR + 1000);
      assert.equal(assets.sessionOf(token), undefined);
    });

    test("the sweep deletes unused manifests, files and objects after a day", async (t) => {
      const { assets, clock, stored, upload, attach, detach } = await start(engine, t);
      await attach("v1", A, await upload(A, { "/kept.html": "kept", "/old.html": "old" }));
      await attach("v2", A, await upload(A, { "/kept.html": "kept" }));
      await upload(A, { "/abandoned.html": "abandoned" });
      assert.deepEqual(await assets.sweep(), { manifests: 0, files: 0, objects: 0, finished: true });
      await detach("v1");
      clock.advance(25 * HOUR);
      assert.deepEqual(await assets.sweep(), { manifests: 2, files: 2, objects: 2, finished: true });
      assert.equal((await stored()).length, 1);
      assert.deepEqual((await assets.begin(A, manifestOf({ "/kept.html": "kept" }))).buckets, []);
    });

    test("the sweep keeps the files of a new session", async (t) => {
      const { assets, clock, stored, upload } = await start(engine, t);
      await upload(A, { "/a.html": "a" });
      clock.advance(25 * HOUR);
      const { buckets } = await assets.begin(A, manifestOf({ "/a.html": "a", "/b.html": "b" }));
      await assets.sweep();
      assert.deepEqual([buckets, (await stored()).length], [[[hashOf("b")]], 1]);
    });

    test("invalid manifests are rejected", async (t) => {
      const { assets } = await start(engine, t);
      const file = { hash: "0".repeat(32), size: 1 };
      for (const path of ["a", "/../a", "/a/./b", "/a//b", "/", "/a\n", `/${"x".repeat(2000)}`])
        await assert.rejects(assets.begin(A, { [path]: file }), kind("badManifest"), path);
      await assert.rejects(assets.begin(A, { "/a": { ...file, hash: "no" } }), kind("badManifest"));
      await assert.rejects(assets.begin(A, { "/a": file, "/b": { ...file, size: 2 } }), kind("badManifest"));
      await assert.rejects(assets.begin(A, { "/a": { ...file, size: 26_214_401 } }), kind("fileTooLarge"));
      const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [`/${i}`, file]));
      await assert.rejects(assets.begin(A, many), kind("tooManyFiles"));
    });

    test("a manifest of 20,000 files is stored and listed in buckets", async (t) => {
      const { assets } = await start(engine, t);
      const manifest = Object.fromEntries(
        Array.from({ length: 20_000 }, (_, i) => [`/${i}.html`, { hash: hashOf(String(i)), size: 10_000 }]),
      );
      const { buckets } = await assets.begin(A, manifest);
      assert.equal(buckets.flat().length, 20_000);
      assert.ok(buckets.every((bucket) => bucket.length <= 1000));
    });
  });
}
