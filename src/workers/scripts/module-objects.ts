import { createHash } from "node:crypto";
import type { Ids } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import type { UploadedModule } from "./port.ts";
import type { ModuleRecord } from "./versions-table.ts";

export const MODULE_PREFIX = "modules/";

const MAX_CONCURRENT = 8;

/**
 * Writes the modules that are not in `knownRecords` and resolves when all of them are on disk. Each object is written
 * once, under a unique name: a sweep that has found an object without a version can never collide with an upload that
 * is about to use it.
 */
export async function storeModules(
  modules: UploadedModule[],
  knownRecords: readonly ModuleRecord[],
  { objects, ids }: { objects: ObjectStore; ids: Ids },
): Promise<ModuleRecord[]> {
  const keys = new Map(knownRecords.map(({ sha256, objectKey }) => [sha256, objectKey]));
  const records = modules.map(({ name, kind, contentType, content }) => {
    const bytes = bytesOf(content);
    return {
      name,
      kind,
      contentType,
      bytes,
      size: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    };
  });
  const missingRecords = [
    ...new Map(records.filter(({ sha256 }) => !keys.has(sha256)).map((record) => [record.sha256, record.bytes])),
  ];
  const write = async () => {
    for (let next = missingRecords.pop(); next !== undefined; next = missingRecords.pop()) {
      const [sha256, bytes] = next;
      const key = `${MODULE_PREFIX}${sha256}-${ids.hex()}`;
      await objects.put(key, bytes);
      keys.set(sha256, key);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, write));
  return records.map(({ name, kind, contentType, size, sha256 }) => ({
    name,
    kind,
    contentType,
    size,
    sha256,
    objectKey: keys.get(sha256)!,
  }));
}

/** Throws if the bytes of a module are missing. */
export async function readModules(records: readonly ModuleRecord[], objects: ObjectStore): Promise<UploadedModule[]> {
  const modules: UploadedModule[] = Array.from({ length: records.length });
  let next = 0;
  const read = async () => {
    for (let i = next++; i < records.length; i = next++) {
      const { name, kind, contentType, objectKey } = records[i]!;
      const object = await objects.open(objectKey);
      if (object === undefined)
        throw new Error(`the object ${objectKey} of the module ${name} is missing from the object store`);
      const bytes = await object.bytes();
      modules[i] = (
        kind === "wasm" || kind === "data"
          ? { name, kind, contentType, content: bytes }
          : { name, kind, contentType, content: bytes.toString("utf8") }
      ) as UploadedModule;
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, read));
  return modules;
}

const bytesOf = (content: string | Uint8Array): Buffer =>
  typeof content === "string"
    ? Buffer.from(content)
    : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
