import { isUtf8 } from "node:buffer";
import { lstatSync, readFileSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { join, sep } from "node:path";
import { messageOf } from "../../../kernel/errors.ts";
import { assetErrors } from "../errors.ts";
import { ASSET_LIMITS } from "../limits.ts";
import { parseIgnore } from "./ignore.ts";

/** A file in an assets directory. */
export interface FolderAsset {
  /** Path relative to the directory, with a leading "/". */
  path: string;
  file: string;
  size: number;
}

interface FolderAssets {
  assets: FolderAsset[];
  /**
   * Paths of symbolic links. They are never followed, because they could point to private files outside the directory.
   */
  links: string[];
}

export const IGNORE_FILE = ".assetsignore";
/** Configuration files, which are not assets themselves. */
const DEFAULT_IGNORES = "/.assetsignore\n/_redirects\n/_headers\n";
const PRIVATE_FILE = "_worker.js";

/**
 * Lists the files to upload from an assets directory, sorted by path. Throws folderUnreadable, tooManyFiles,
 * fileTooLarge, workerFile.
 */
export function listFolder(folder: string): FolderAssets {
  const ignoreText = readRuleFile(folder, IGNORE_FILE);
  const isIgnored = createIgnorePredicate(ignoreText);
  const assets: FolderAsset[] = [];
  const links: string[] = [];
  const pendingFolders = [""];
  for (let relativePath = pendingFolders.pop(); relativePath !== undefined; relativePath = pendingFolders.pop()) {
    for (const entry of entriesOf(join(folder, relativePath))) {
      const path = relativePath === "" ? entry.name : `${relativePath}/${entry.name}`;
      if (isIgnored(path)) continue;
      if (entry.isSymbolicLink()) links.push(path);
      else if (entry.isDirectory()) pendingFolders.push(path);
      else if (entry.isFile()) {
        if (ignoreText === undefined && path.split("/", 1)[0] === PRIVATE_FILE) throw assetErrors.workerFile({ path });
        const file = join(folder, path);
        const { size } = lstatSync(file);
        const { files: maxFiles, fileBytes } = ASSET_LIMITS;
        if (size > fileBytes) throw assetErrors.fileTooLarge({ path: `/${path}`, size, limit: fileBytes });
        if (assets.push({ path: `/${path}`, file, size }) > maxFiles)
          throw assetErrors.tooManyFiles({ count: `more than ${maxFiles}`, limit: maxFiles });
      }
    }
  }
  return { assets: assets.sort((a, b) => (a.path < b.path ? -1 : 1)), links };
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw assetErrors.folderUnreadable({ folder, reason: messageOf(cause) }, { cause });
  }
}

/**
 * Reads `_headers`, `_redirects` or `.assetsignore`. Returns undefined if it does not exist. Throws folderUnreadable.
 */
export function readRuleFile(folder: string, name: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(join(folder, name));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw assetErrors.folderUnreadable({ folder: join(folder, name), reason: messageOf(cause) }, { cause });
  }
  const { ruleFileBytes } = ASSET_LIMITS;
  const reason =
    bytes.length > ruleFileBytes
      ? `it has ${bytes.length} bytes, at most ${ruleFileBytes} are allowed`
      : bytes.includes(0) || !isUtf8(bytes)
        ? "it is not UTF-8 text"
        : undefined;
  if (reason !== undefined) throw assetErrors.folderUnreadable({ folder: join(folder, name), reason });
  return bytes.toString("utf8");
}

/**
 * Finds the file for a path in an assets directory. Returns undefined if it does not exist or is ignored, or if the
 * path leads through a symbolic link or out of the directory. `isIgnored` receives the path without the leading "/".
 */
export function fileAt(
  folder: string,
  path: string,
  isIgnored: (path: string) => boolean,
): { file: string; stats: Stats } | undefined {
  const relativePath = path.slice(1);
  // Non-canonical paths such as "a//b" or "a/./b" match no asset.
  if (/(?:^|\/)(?:\.{0,2})(?:\/|$)|\0/.test(relativePath) || (sep === "\\" && /[\\:]/.test(relativePath)))
    return undefined;
  if (isIgnored(relativePath)) return undefined;
  try {
    const file = join(realpathSync.native(folder), relativePath);
    const stats = lstatSync(file);
    return stats.isFile() && realpathSync.native(file) === file ? { file, stats } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a predicate for ignored paths. `text` is the content of `.assetsignore`. */
export const createIgnorePredicate = (text: string | undefined) => parseIgnore(DEFAULT_IGNORES + (text ?? ""));
