import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../store/index.ts";
import { watchFacts, type Facts } from "./facts.ts";

/** The content of queued messages: one object each, under the day it came. */
export interface Bodies {
  /** On the disk when it resolves. */
  put(message: BodyName, raw: Readable | Uint8Array): Promise<Facts>;
  /** Undefined when it is gone. */
  open(message: BodyName): Promise<{ size: number; read(): Readable; bytes(): Promise<Buffer> } | undefined>;
  delete(messages: BodyName[]): Promise<void>;
  /** Deletes what came before `day` ("2026-01-31") and has no message any more: a process died between the body and its row, or between the row and its body. */
  sweep(day: string, withBody: (ids: string[]) => Promise<Set<string>>): Promise<number>;
}

export interface BodyName {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** The queue's own folder: what lies in it without a row is garbage. */
const PREFIX = "mail/out/";
const AT_ONCE = 500;

export function createBodies({ objects, maxBytes }: { objects: ObjectStore; maxBytes: number }): Bodies {
  return {
    async put(message, raw) {
      const watch = watchFacts();
      await objects.put(keyOf(message), watch.passing(raw), { maxBytes });
      return watch.facts;
    },
    open: (message) => objects.open(keyOf(message)),
    delete: (messages) => objects.delete(messages.map(keyOf)),
    async sweep(day, withBody) {
      let deleted = 0;
      let keys: string[] = [];
      async function flush() {
        const kept = await withBody(keys.map(idOf));
        const orphans = keys.filter((key) => !kept.has(idOf(key)));
        await objects.delete(orphans);
        deleted += orphans.length;
        keys = [];
      }
      for await (const { key } of objects.list(PREFIX)) {
        if (key.slice(PREFIX.length) >= day) break;
        if (keys.push(key) === AT_ONCE) await flush();
      }
      if (keys.length > 0) await flush();
      return deleted;
    },
  };
}

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

const keyOf = ({ id, createdAt }: BodyName) => `${PREFIX}${dayOf(createdAt)}/${id}.eml`;

const idOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1, -".eml".length);
