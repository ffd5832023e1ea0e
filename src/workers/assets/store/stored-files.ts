import type { ObjectStore } from "../../../store/index.ts";
import type { AssetFile, AssetFiles } from "../files/port.ts";
import type { FileRecord } from "./assets-table.ts";

/** Looks up the stored files of a version by path. */
export function storedFiles(records: readonly (FileRecord & { path: string })[], objects: ObjectStore): AssetFiles {
  const files = new Map<string, AssetFile>();
  let longest = 0;
  for (const { path, hash, size, contentType, objectKey } of records) {
    longest = Math.max(longest, path.length);
    files.set(path, {
      etag: hash,
      size,
      contentType: contentType ?? undefined,
      open: async (range) => (await objects.open(objectKey))?.read(range),
    });
  }
  return { find: (path) => files.get(path), maxPathLength: () => longest };
}
