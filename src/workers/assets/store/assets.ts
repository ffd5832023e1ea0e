import { createHash } from "node:crypto";
import type { Kysely } from "kysely";
import type { Clock, Ids } from "../../../kernel/index.ts";
import type { Db, ObjectStore, Secrets } from "../../../store/index.ts";
import { assetErrors } from "../errors.ts";
import { compileRouting } from "../site/routing.ts";
import { createAssetSite, type AssetSite } from "../site/site.ts";
import {
  listManifest,
  missingFiles,
  putFile,
  putManifest,
  sizeInManifest,
  touchFiles,
  touchManifest,
} from "./assets-table.ts";
import { createAssetSweep, type AssetSweepOptions } from "./asset-sweep.ts";
import { groupIntoBuckets, manifestIdOf, readManifest, type AssetManifest } from "./manifest.ts";
import { ASSET_OBJECT_PREFIX } from "./object-prefix.ts";
import type { AssetTables } from "./schema.ts";
import { storedFiles } from "./stored-files.ts";
import { createAssetTokens, type AssetSession } from "./tokens.ts";
import { findVersionAssets, insertVersionAssets, type VersionAssets } from "./version-assets-table.ts";

/** An uploaded file. */
export interface UploadedAsset {
  hash: string;
  /** Undefined if served without Content-Type. */
  contentType: string | undefined;
  bytes: Uint8Array;
}

/** Uploads static assets with the published protocol. */
export interface AssetUploads {
  /**
   * Registers a manifest. `buckets` contains the hashes of the files to upload, grouped by request. `token` authorizes
   * the uploads, or is the completion token if there is nothing to upload. Throws badManifest, tooManyFiles,
   * fileTooLarge.
   */
  begin(account: string, manifest: AssetManifest): Promise<{ token: string; buckets: string[][] }>;
  /** Returns the session of an upload token, or undefined if the token is invalid or expired. */
  sessionOf(token: string): AssetSession | undefined;
  /**
   * Stores files on disk. Resolves with the completion token once the manifest is complete. Throws badUpload if a file
   * does not match the manifest.
   */
  store(session: AssetSession, files: readonly UploadedAsset[]): Promise<{ token?: string }>;
}

export interface Assets extends AssetUploads {
  /** Returns the manifest id of a completion token. Throws badCompletion. */
  manifestIdOfToken(account: string, token: string): string;
  /** Returns the assets of a version, or undefined if it has none. */
  findByVersion(versionId: string): Promise<VersionAssets | undefined>;
  /** Assigns assets to a new version in that version's transaction. Throws incomplete if a file is missing. */
  attach<Tables>(tx: Kysely<Tables>, version: { id: string; account: string }, assets: VersionAssets): Promise<void>;
  /** Opens the assets of a version for serving. `weight` is the memory that they use, in bytes. */
  open(
    version: { account: string; compatibilityDate: string; compatibilityFlags: readonly string[] },
    assets: VersionAssets,
  ): Promise<{ site: AssetSite; weight: number }>;
  /** Deletes unused manifests, files and objects. Call it periodically. */
  sweep(options?: AssetSweepOptions): Promise<{ manifests: number; files: number; objects: number; finished: boolean }>;
}

interface AssetsDeps {
  db: Db;
  objects: ObjectStore;
  secrets: Pick<Secrets, "derive">;
  clock: Clock;
  ids: Ids;
}

/** Approximate memory of a manifest entry in bytes. */
const BYTES_PER_ENTRY = 500;

export function createAssets({ db, objects, secrets, clock, ids }: AssetsDeps): Assets {
  const tables = db.tables<AssetTables>();
  const tokens = createAssetTokens({ secrets, clock });

  async function store(session: AssetSession, { hash, contentType = "", bytes }: UploadedAsset) {
    const size = await sizeInManifest(tables, session.manifestId, hash);
    const invalidUpload = (reason: string, fix: string) => assetErrors.badUpload({ reason, fix });
    const quotedHash = JSON.stringify(hash.slice(0, 80));
    if (size === undefined)
      throw invalidUpload(
        `the manifest contains no file with the hash ${quotedHash}`,
        "Name each part after the hash of its file.",
      );
    if (bytes.length !== size)
      throw invalidUpload(
        `the file with the hash ${quotedHash} has ${bytes.length} bytes, but the manifest says ${size}`,
        "Upload the file that the manifest describes, encoded in base64.",
      );
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const objectKey = `${ASSET_OBJECT_PREFIX}${sha256}-${ids.hex()}`;
    await objects.put(objectKey, bytes);
    const storedObject = await db.transaction<AssetTables, { sha256: string; objectKey: string }>((tx) =>
      putFile(
        tx,
        session.account,
        { hash, sha256, size, contentType: contentType === "" ? null : contentType, objectKey },
        clock.now(),
      ),
    );
    if (storedObject.objectKey !== objectKey) await objects.delete([objectKey]);
    // Clients choose the hash function, so a wrong hash is detected only if an earlier upload has the same hash.
    if (storedObject.sha256 !== sha256)
      throw invalidUpload(
        `the hash ${quotedHash} belongs to another file of this account`,
        "Compute the hash from the content.",
      );
  }

  const listMissing = (session: AssetSession) =>
    missingFiles(tables, { id: session.manifestId, account: session.account });

  return {
    async begin(account, manifest) {
      const entries = readManifest(manifest);
      const session = { account, manifestId: manifestIdOf(account, entries) };
      const missingHashes = await db.transaction<AssetTables, { hash: string; size: number }[]>(async (tx) => {
        const manifestUse = { id: session.manifestId, account, now: clock.now() };
        await putManifest(tx, manifestUse, entries);
        await touchFiles(tx, manifestUse);
        return missingFiles(tx, manifestUse);
      });
      return {
        token: tokens.issue(missingHashes.length === 0 ? "done" : "upload", session),
        buckets: groupIntoBuckets(missingHashes),
      };
    },
    sessionOf: (token) => tokens.read("upload", token),
    async store(session, files) {
      for (const file of files) await store(session, file);
      return (await listMissing(session)).length === 0 ? { token: tokens.issue("done", session) } : {};
    },
    manifestIdOfToken(account, token) {
      const session = tokens.read("done", token);
      if (session === undefined)
        throw assetErrors.badCompletion({
          reason: tokens.read("upload", token) === undefined ? "it is invalid or has expired" : "it is an upload token",
        });
      if (session.account !== account) throw assetErrors.badCompletion({ reason: "it belongs to another account" });
      return session.manifestId;
    },
    findByVersion: (versionId) => findVersionAssets(tables, versionId),
    async attach(given, { id, account }, assets) {
      const tx = given as unknown as Kysely<AssetTables>;
      const manifestUse = { id: assets.manifestId, account, now: clock.now() };
      const exists = await touchManifest(tx, manifestUse);
      await touchFiles(tx, manifestUse);
      const missingHashes = exists ? await missingFiles(tx, manifestUse) : [];
      if (!exists || missingHashes.length > 0)
        throw assetErrors.incomplete({ count: exists ? missingHashes.length : "All" });
      await insertVersionAssets(tx, id, assets);
    },
    async open({ account, compatibilityDate, compatibilityFlags }, { manifestId, config }) {
      const records = await listManifest(tables, { id: manifestId, account });
      const files = storedFiles(records, objects);
      const routing = compileRouting(config, { compatibilityDate, compatibilityFlags });
      const { headers = "", redirects = "" } = config;
      const weight = records.length * BYTES_PER_ENTRY + 2 * (headers.length + redirects.length);
      return { site: createAssetSite(() => ({ files, routing })), weight };
    },
    sweep: createAssetSweep({ db, objects, clock }),
  };
}
