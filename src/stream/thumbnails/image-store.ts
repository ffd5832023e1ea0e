import { Readable } from "node:stream";
import type { Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { createImageTurns } from "./turns.ts";

export interface ImageStore {
  /** The object under this name below `stream/<uid>/thumbs/`, or what `make` makes for it. Calls for one name at the same time share it. Throws encoderBusy. */
  get(uid: string, name: string, make: () => Promise<Buffer>): Promise<ObjectHandle>;
}

export interface ImageStoreParts {
  objects: ObjectStore;
  /** Whether there is still somebody to keep images for. */
  exists: (uid: string) => Promise<boolean>;
  log: Log;
  /** Of one video; those beyond it are made each time they are asked for. Default 500. */
  mostKept?: number;
  /** Of one video's images, all together. Default 64 MiB: a moving one may have as much alone. */
  mostOctets?: number;
}

/** Videos whose number of images is remembered. */
const MOST_COUNTED = 2000;

interface Count {
  kept: number;
  octets: number;
}

/** Images that were made once are kept; but everybody may ask for any number of them, and disks are small. */
export function createImageStore({
  objects,
  exists,
  log,
  mostKept = 500,
  mostOctets = 64 * 1024 * 1024,
}: ImageStoreParts): ImageStore {
  const making = new Map<string, Promise<ObjectHandle>>();
  const counts = new Map<string, Promise<Count>>();
  const turns = createImageTurns();

  async function keep(uid: string, key: string, bytes: Buffer): Promise<ObjectHandle> {
    try {
      const count = await countOf(uid);
      if (count.kept >= mostKept || count.octets + bytes.length > mostOctets) return inMemory(bytes);
      count.kept++;
      count.octets += bytes.length;
      await objects.put(key, bytes);
      // The video may have been deleted meanwhile, with everything that was there then.
      if (!(await exists(uid))) await objects.delete([key]);
      return (await objects.open(key)) ?? inMemory(bytes);
    } catch (err) {
      // A full disk is no reason not to show what is there.
      log.warn({ video: uid, key, err }, "an image could not be kept; it is made again when it is asked for");
      return inMemory(bytes);
    }
  }

  function countOf(uid: string): Promise<Count> {
    const known = counts.get(uid) ?? countStored(uid);
    counts.delete(uid);
    if (counts.size >= MOST_COUNTED) counts.delete(counts.keys().next().value!);
    counts.set(uid, known);
    known.catch(() => counts.delete(uid));
    return known;
  }

  async function countStored(uid: string): Promise<Count> {
    const count = { kept: 0, octets: 0 };
    for await (const { size } of objects.list(prefixOf(uid))) {
      count.octets += size;
      if (++count.kept >= mostKept) break;
    }
    return count;
  }

  return {
    async get(uid, name, make) {
      const key = `${prefixOf(uid)}${name}`;
      const under = making.get(key);
      if (under !== undefined) return under;
      const found = (async () => (await objects.open(key)) ?? keep(uid, key, await turns.take(uid, make)))();
      making.set(key, found);
      return found.finally(() => making.delete(key));
    },
  };
}

const prefixOf = (uid: string) => `stream/${uid}/thumbs/`;

const inMemory = (bytes: Buffer): ObjectHandle => ({
  size: bytes.length,
  read: ({ start = 0, end = bytes.length - 1 } = { start: 0 }) => Readable.from([bytes.subarray(start, end + 1)]),
  bytes: async () => bytes,
});
