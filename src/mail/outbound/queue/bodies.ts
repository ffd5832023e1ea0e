import type { Readable } from "node:stream";
import { utcDay } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import { closeStream } from "../../messages/index.ts";
import { createBodyInspector, type BodyProperties } from "./facts.ts";
import type { BodyLocation } from "./migrations.ts";

/**
 * The content of queued messages: small bodies in the database, large ones as one object each, under the day of
 * arrival.
 */
export interface Bodies {
  /**
   * A small body is written by the caller in the transaction of its message rows. A large one is on disk when this
   * resolves.
   */
  store(
    message: BodyName,
    raw: Readable | Uint8Array,
  ): Promise<{ facts: BodyProperties; small: Uint8Array | undefined }>;
  /** Undefined if it no longer exists. */
  open(message: BodyName & { location: BodyLocation | null }): Promise<OpenBody | undefined>;
  /** Deletes bodies in the object store. */
  delete(messages: BodyName[]): Promise<void>;
  /**
   * Deletes bodies older than `day` ("2026-01-31") that have no message, because a process died between writing or
   * deleting the body and its row.
   */
  sweep(day: string, findWithBody: (ids: string[]) => Promise<Set<string>>): Promise<number>;
}

interface OpenBody {
  size: number;
  read(): Readable | Uint8Array;
  bytes(): Promise<Buffer>;
}

interface BodyName {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

interface BodiesDeps {
  objects: ObjectStore;
  /** Reads a body stored in the database. */
  small: (id: string) => Promise<Uint8Array | undefined>;
  maxBytes: number;
}

/** The queue's own prefix: objects without a row can be deleted. */
const PREFIX = "mail/out/";
const DELETE_BATCH_SIZE = 500;
/**
 * Most mail is smaller. A row of this size writes its pages twice, to the log and to the file; a file costs a directory
 * entry and two more fsyncs.
 */
export const SMALL_BODY_BYTES = 64 * 1024;

export function createBodies({ objects, small, maxBytes }: BodiesDeps): Bodies {
  const smallBodyBytes = Math.min(SMALL_BODY_BYTES, maxBytes);

  async function store(message: BodyName, raw: Readable | Uint8Array) {
    const inspector = createBodyInspector();
    if (raw instanceof Uint8Array && raw.length <= smallBodyBytes) {
      inspector.look(raw);
      return { facts: inspector.properties(), small: raw };
    }
    try {
      const pieces = inspector.passing(raw);
      const leadingPieces: Uint8Array[] = [];
      for (let size = 0; size <= smallBodyBytes;) {
        const next = await pieces.next();
        if (next.done) return { facts: inspector.properties(), small: Buffer.concat(leadingPieces) };
        leadingPieces.push(next.value);
        size += next.value.length;
      }
      await objects.put(keyOf(message), resumeBody(leadingPieces, pieces), { maxBytes });
      return { facts: inspector.properties(), small: undefined };
    } finally {
      // If the store fails before its first read, it does not close the source.
      closeStream(raw);
    }
  }

  return {
    store,
    async open(message) {
      if (message.location === null) return undefined;
      if (message.location === "objects") return objects.open(keyOf(message));
      const body = await small(message.id);
      if (body === undefined) return undefined;
      const octets = Buffer.from(body.buffer, body.byteOffset, body.length);
      return { size: octets.length, read: () => octets, bytes: async () => octets };
    },
    delete: (messages) => objects.delete(messages.map(keyOf)),
    async sweep(day, findWithBody) {
      let deleted = 0;
      let keys: string[] = [];
      async function flush() {
        const keptIds = await findWithBody(keys.map(idOf));
        const orphans = keys.filter((key) => !keptIds.has(idOf(key)));
        await objects.delete(orphans);
        deleted += orphans.length;
        keys = [];
      }
      for await (const { key } of objects.list(PREFIX)) {
        if (key.slice(PREFIX.length) >= day) break;
        if (keys.push(key) === DELETE_BATCH_SIZE) await flush();
      }
      if (keys.length > 0) await flush();
      return deleted;
    },
  };
}

async function* resumeBody(leadingPieces: Uint8Array[], rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* leadingPieces;
  yield* rest;
}

const keyOf = ({ id, createdAt }: BodyName) => `${PREFIX}${utcDay(createdAt)}/${id}.eml`;

const idOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1, -".eml".length);
