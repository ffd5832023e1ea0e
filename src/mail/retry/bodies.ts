import { utcDay } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { closeStream, type MailSource } from "../messages/index.ts";

/** The content of queued messages: one object each, under the day of arrival. */
interface RetryBodies {
  /** Stores the content; resolves with the name of the object when it is on disk. */
  put(id: string, at: number, source: MailSource): Promise<string>;
  open(name: string): Promise<ObjectHandle | undefined>;
  delete(name: string): Promise<void>;
  /** Deletes objects older than the day of `at`, which no longer have a job. */
  sweep(at: number): Promise<void>;
}

const PREFIX = "mail/held/";
const BATCH_SIZE = 500;

export function createRetryBodies(objects: ObjectStore): RetryBodies {
  return {
    async put(id, at, source) {
      const name = `${PREFIX}${utcDay(at)}/${id}.eml`;
      const raw = source.open();
      try {
        await objects.put(name, raw instanceof Uint8Array ? raw : (raw as AsyncIterable<Uint8Array>));
      } finally {
        // If the store fails before its first read, it does not close the source.
        closeStream(raw);
      }
      return name;
    },
    open: (name) => objects.open(name),
    delete: (name) => objects.delete([name]),
    async sweep(at) {
      const until = `${PREFIX}${utcDay(at)}`;
      let oldKeys: string[] = [];
      for await (const { key } of objects.list(PREFIX)) {
        if (key >= until) break;
        if (oldKeys.push(key) === BATCH_SIZE) await objects.delete(oldKeys.splice(0));
      }
      await objects.delete(oldKeys);
    },
  };
}
