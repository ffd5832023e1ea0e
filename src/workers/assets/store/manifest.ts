import { createHash } from "node:crypto";
import { assetErrors } from "../errors.ts";
import { ASSET_LIMITS } from "../limits.ts";
import type { ManifestEntry } from "./assets-table.ts";

/** Maps each path to a hash and a size in bytes, as sent by the client. */
export type AssetManifest = Record<string, { hash: string; size: number }>;

/** Checks a manifest and returns its entries, sorted by path. Throws badManifest, tooManyFiles, fileTooLarge. */
export function readManifest(sentManifest: AssetManifest): ManifestEntry[] {
  const paths = Object.keys(sentManifest);
  const { files, fileBytes } = ASSET_LIMITS;
  if (paths.length > files) throw assetErrors.tooManyFiles({ count: paths.length, limit: files });
  const sizes = new Map<string, number>();
  return paths.toSorted(compareCodePoints).map((path) => {
    const { hash, size } = sentManifest[path]!;
    const quotedPath = JSON.stringify(path.slice(0, 200));
    const problem = pathProblem(path);
    if (problem !== undefined)
      throw assetErrors.badManifest({ reason: `the path ${quotedPath} ${problem}`, fix: PATH_FIX });
    if (!/^[0-9a-f]{16,64}$/i.test(hash))
      throw assetErrors.badManifest({
        reason: `the hash of ${quotedPath} is ${JSON.stringify(hash.slice(0, 80))}`,
        fix: "Send 32 hexadecimal digits.",
      });
    if (size > fileBytes) throw assetErrors.fileTooLarge({ path: quotedPath, size, limit: fileBytes });
    if ((sizes.get(hash) ?? size) !== size)
      throw assetErrors.badManifest({
        reason: `two files with the hash ${hash} have different sizes`,
        fix: "Compute the hash from the whole content of a file.",
      });
    sizes.set(hash, size);
    return { path, hash, size };
  });
}

const PATH_FIX = 'Send paths such as "/blog/index.html", relative to the assets directory.';

/** Paths are only keys, never file names on the server. They must be normalized, so that each has one URL. */
function pathProblem(path: string): string | undefined {
  if (!path.startsWith("/")) return "does not begin with /";
  if (Buffer.byteLength(path) > ASSET_LIMITS.pathBytes) return `has more than ${ASSET_LIMITS.pathBytes} bytes`;
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed()) return "has invalid characters";
  return path
    .slice(1)
    .split("/")
    .some((segment) => segment === "" || segment === "." || segment === "..")
    ? 'has an empty segment, "." or ".."'
    : undefined;
}

/** Returns the same id for equal manifests of an account. */
export function manifestIdOf(account: string, entries: readonly ManifestEntry[]): string {
  const hash = createHash("sha256").update(`${account}\n`);
  for (const { path, hash: file, size } of entries) hash.update(`${file} ${size} ${path}\n`);
  return hash.digest("hex").slice(0, 32);
}

/**
 * Maximum size of the files in a request, before base64 encoding, and their maximum number. A larger file is sent
 * alone.
 */
const MAX_BUCKET_BYTES = 16 * 1024 * 1024;
const MAX_BUCKET_FILES = 1000;

/** Groups the hashes to upload by request. */
export function groupIntoBuckets(files: readonly { hash: string; size: number }[]): string[][] {
  const buckets: string[][] = [];
  let bytes = Infinity;
  for (const { hash, size } of files) {
    const isBucketFull = bytes + size > MAX_BUCKET_BYTES || buckets.at(-1)!.length >= MAX_BUCKET_FILES;
    if (isBucketFull) buckets.push([]);
    bytes = isBucketFull ? size : bytes + size;
    buckets.at(-1)!.push(hash);
  }
  return buckets;
}

const compareCodePoints = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
