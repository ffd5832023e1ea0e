import type { ObjectHandle, ObjectStore } from "./port.ts";

type RequestCounts = Record<"put" | "open" | "read" | "copy" | "list" | "delete", number>;

/**
 * Counts the requests that a remote store would receive, except for partial objects and leased files. An object of up
 * to 256 KiB needs no request besides open().
 */
export function countObjectRequests(objects: ObjectStore): { objects: ObjectStore; counts: RequestCounts } {
  const counts: RequestCounts = { put: 0, open: 0, read: 0, copy: 0, list: 0, delete: 0 };
  const countReads = (object: ObjectHandle): ObjectHandle => ({
    size: object.size,
    ...(object.version !== undefined && { version: object.version }),
    read(range) {
      if (object.size > FIRST_BYTES) counts.read++;
      return object.read(range);
    },
    bytes() {
      if (object.size > FIRST_BYTES) counts.read++;
      return object.bytes();
    },
  });
  return {
    counts,
    objects: {
      ...objects,
      put(...args) {
        counts.put++;
        return objects.put(...args);
      },
      putFile(...args) {
        counts.put++;
        return objects.putFile(...args);
      },
      async open(key) {
        counts.open++;
        const object = await objects.open(key);
        return object && countReads(object);
      },
      copy(...args) {
        counts.copy++;
        return objects.copy(...args);
      },
      delete(keys) {
        if (keys.length > 0) counts.delete++;
        return objects.delete(keys);
      },
      list(...args) {
        counts.list++;
        return objects.list(...args);
      },
    },
  };
}

const FIRST_BYTES = 256 * 1024;
