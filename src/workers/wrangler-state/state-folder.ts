import { createHash, createHmac } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { workerErrors } from "../errors.ts";

/** The classes of the objects that hold wrangler's local storage. */
const CLASSES = { kv: "KVNamespaceObject", r2: "R2BucketObject", d1: "D1DatabaseObject" } as const;
type StateKind = keyof typeof CLASSES;

/**
 * The local state of wrangler: for each kind, one SQLite file per namespace, bucket or database, named by the id of a
 * Durable Object, and a folder of values per namespace and bucket.
 */
export interface StateFolder {
  /** Names of namespaces or buckets. Databases have no folder that shows their names. */
  names(kind: StateKind): string[];
  /** The SQLite file of a namespace, bucket or database. Undefined if there is none. */
  file(kind: StateKind, name: string): string | undefined;
  /** Paths of all SQLite files. */
  files(kind: StateKind): string[];
  /** Path of a stored value. */
  blob(kind: StateKind, name: string, id: string): string;
}

/** Throws wranglerStateMissing. */
export function openStateFolder(state: string): StateFolder {
  const versioned = join(state, "v3");
  const root = existsSync(versioned) ? versioned : state;
  const kinds = Object.keys(CLASSES) as StateKind[];
  if (!kinds.some((kind) => existsSync(join(root, kind)))) throw workerErrors.wranglerStateMissing({ folder: state });
  const objects = (kind: StateKind) => join(root, kind, `miniflare-${CLASSES[kind]}`);
  return {
    names: (kind) =>
      foldersIn(join(root, kind))
        .filter((name) => !name.startsWith("miniflare-"))
        .map(decoded),
    file(kind, name) {
      const file = join(objects(kind), `${objectId(`miniflare-${CLASSES[kind]}`, name)}.sqlite`);
      return existsSync(file) ? file : undefined;
    },
    files: (kind) =>
      filesIn(objects(kind))
        .filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
        .map((name) => join(objects(kind), name)),
    blob(kind, name, id) {
      const folder = [encodeURIComponent(name), name].find((each) => existsSync(join(root, kind, each, "blobs", id)));
      return join(root, kind, folder ?? name, "blobs", id);
    },
  };
}

/** The id of the Durable Object of a name: https://github.com/cloudflare/workerd/blob/main/src/workerd/server/actor-id-impl.c++ */
export function objectId(uniqueKey: string, name: string): string {
  const key = createHash("sha256").update(uniqueKey).digest();
  const half = (data: string | Buffer) => createHmac("sha256", key).update(data).digest().subarray(0, 16);
  const first = half(name);
  return Buffer.concat([first, half(first)]).toString("hex");
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const entriesOf = (folder: string) => (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []);
const foldersIn = (folder: string) => entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
const filesIn = (folder: string) => entriesOf(folder).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
