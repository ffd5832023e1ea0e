import { createHash, createHmac } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { workerErrors } from "../errors.ts";
import { checkRegularFile, existsWithoutLinks, isLink, listWithoutLinks, realPathOf } from "./links.ts";

/** The Durable Object classes that contain wrangler's local storage. */
const OBJECT_CLASSES = { kv: "KVNamespaceObject", r2: "R2BucketObject", d1: "D1DatabaseObject" } as const;
type StateKind = keyof typeof OBJECT_CLASSES;

/**
 * Wrangler's local state. Each kind of resource has one SQLite file per namespace, bucket or database, whose name is
 * the id of a Durable Object, and one directory of values per namespace or bucket. Others may have written the state,
 * so no method follows a symbolic link: each throws wranglerStateLink.
 */
export interface StateFolder {
  /** Names of namespaces or buckets. Empty for databases, which have no directories with their names. */
  names(kind: StateKind): string[];
  /** Returns the path of the SQLite file of a namespace, bucket or database. Undefined if it does not exist. */
  file(kind: StateKind, name: string): string | undefined;
  /** Paths of all SQLite files. */
  files(kind: StateKind): string[];
  /** Returns the path of a stored value. */
  blob(kind: StateKind, name: string, id: string): string;
}

/** SQLite also reads these files next to a database. */
const SQLITE_SUFFIXES = ["-wal", "-shm", "-journal"];

/** Opens the state directory. Throws wranglerStateMissing, wranglerStateLink. */
export function openStateFolder(state: string): StateFolder {
  for (const path of [dirname(state), state])
    if ((path === state || basename(path) === ".wrangler") && isLink(path))
      throw workerErrors.wranglerStateLink({ path });
  const folder = realPathOf(state);
  if (folder === undefined) throw workerErrors.wranglerStateMissing({ folder: state });
  const versionFolder = join(folder, "v3");
  const root = existsWithoutLinks(versionFolder) ? versionFolder : folder;
  const kinds = Object.keys(OBJECT_CLASSES) as StateKind[];
  if (!kinds.some((kind) => existsWithoutLinks(join(root, kind))))
    throw workerErrors.wranglerStateMissing({ folder: state });
  const objectFolder = (kind: StateKind) => join(root, kind, `miniflare-${OBJECT_CLASSES[kind]}`);
  return {
    names: (kind) =>
      foldersIn(join(root, kind))
        .filter((name) => !name.startsWith("miniflare-"))
        .map(decodeName),
    file(kind, name) {
      const file = join(objectFolder(kind), `${objectId(`miniflare-${OBJECT_CLASSES[kind]}`, name)}.sqlite`);
      return existsWithoutLinks(file) ? checkDatabase(file) : undefined;
    },
    files: (kind) =>
      filesIn(objectFolder(kind))
        .filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
        .map((name) => checkDatabase(join(objectFolder(kind), name))),
    blob(kind, name, id) {
      // The id comes from the state of a project, which others may have written: it must not lead to another folder.
      const file = basename(id);
      const folder = [encodeURIComponent(name), name].find((each) =>
        existsWithoutLinks(join(root, kind, each, "blobs", file)),
      );
      return join(root, kind, folder ?? name, "blobs", file);
    },
  };
}

/**
 * Returns the id of the Durable Object with a given name:
 * https://github.com/cloudflare/workerd/blob/main/src/workerd/server/actor-id-impl.c++
 */
export function objectId(uniqueKey: string, name: string): string {
  const key = createHash("sha256").update(uniqueKey).digest();
  const halfDigest = (data: string | Buffer) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const firstHalf = halfDigest(name);
  return Buffer.concat([firstHalf, halfDigest(firstHalf)]).toString("hex");
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function checkDatabase(file: string): string {
  checkRegularFile(file);
  for (const suffix of SQLITE_SUFFIXES) if (existsWithoutLinks(file + suffix)) checkRegularFile(file + suffix);
  return file;
}

const foldersIn = (folder: string) =>
  listWithoutLinks(folder).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
const filesIn = (folder: string) => listWithoutLinks(folder).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
