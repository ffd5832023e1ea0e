import { createHash } from "node:crypto";
import { assetErrors } from "../errors.ts";
import { ASSET_LIMITS } from "../limits.ts";
import type { ManifestEntry } from "./assets-table.ts";

/** Path to hash and size in bytes, as a client sends it. */
export type SentManifest = Record<string, { hash: string; size: number }>;

/** The entries in order of their paths. Throws badManifest, tooManyFiles, fileTooLarge. */
export function readManifest(sent: SentManifest): ManifestEntry[] {
  const paths = Object.keys(sent);
  const { files, fileBytes } = ASSET_LIMITS;
  if (paths.length > files) throw assetErrors.tooManyFiles({ count: paths.length, limit: files });
  const sizes = new Map<string, number>();
  return paths.toSorted(byCodePoint).map((path) => {
    const { hash, size } = sent[path]!;
    const shown = JSON.stringify(path.slice(0, 200));
    const problem = pathProblem(path);
    if (problem !== undefined) throw assetErrors.badManifest({ reason: `the path ${shown} ${problem}`, fix: PATH_FIX });
    if (!/^[0-9a-f]{16,64}$/i.test(hash))
      throw assetErrors.badManifest({
        reason: `the hash of ${shown} is ${JSON.stringify(hash.slice(0, 80))}`,
        fix: "Send 32 hexadecimal digits.",
      });
    if (size > fileBytes) throw assetErrors.fileTooLarge({ path: shown, size, limit: fileBytes });
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

/** Paths are keys and never file names on the server; they are normalized, so that each has one URL. */
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

/** Equal for equal manifests of the same account. */
export function manifestIdOf(account: string, entries: readonly ManifestEntry[]): string {
  const hash = createHash("sha256").update(`${account}\n`);
  for (const { path, hash: file, size } of entries) hash.update(`${file} ${size} ${path}\n`);
  return hash.digest("hex").slice(0, 32);
}

/** A request carries up to this many files and bytes of base64. A larger file is sent alone. */
const BUCKET_BYTES = 16 * 1024 * 1024;
const BUCKET_FILES = 1000;

/** The hashes to upload, grouped by request. */
export function bucketsOf(files: readonly { hash: string; size: number }[]): string[][] {
  const buckets: string[][] = [];
  let bytes = Infinity;
  for (const { hash, size } of files) {
    const full = bytes + size > BUCKET_BYTES || buckets.at(-1)!.length >= BUCKET_FILES;
    if (full) buckets.push([]);
    bytes = full ? size : bytes + size;
    buckets.at(-1)!.push(hash);
  }
  return buckets;
}

const byCodePoint = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
