import { hash } from "node:crypto";
import type { Clock, Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { closeStream, type MailSource } from "../messages/index.ts";

/** Complete messages sent by accounts, kept for later inspection. */
export interface SentMessages {
  /** Days that messages are kept. */
  readonly days: number;
  /** Never rejects: a message can be sent even if it cannot be stored. The source still belongs to the caller. */
  store(mail: { account: string; messageId: string; source: Pick<MailSource, "open"> }): Promise<void>;
  /** Undefined if the message was not stored, has expired, or belongs to another account. */
  open(account: string, messageId: string): Promise<ObjectHandle | undefined>;
  /** Deletes messages past the retention period. */
  sweep(): Promise<number>;
}

interface SentMessagesOptions {
  objects: ObjectStore;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Default 7. */
  days?: number;
}

const PREFIX = "mail/sent/";
const DAY_MS = 24 * 3_600_000;
const BATCH_SIZE = 500;

export function createSentMessages({ objects, clock, log, days = 7 }: SentMessagesOptions): SentMessages {
  const keyOf = (day: number, account: string, messageId: string) =>
    `${PREFIX}${dayOf(day)}/${hash("sha256", `${account}\n${messageId}`, "hex").slice(0, 40)}.eml`;

  return {
    days,
    async store({ account, messageId, source }) {
      const raw = source.open();
      try {
        // The message itself is stored elsewhere or was rejected, so this copy need not wait for the disk.
        await objects.put(keyOf(clock.now(), account, messageId), raw, { durable: false });
      } catch (err) {
        log.warn({ err, messageId }, "mail: failed to store a copy of a sent message");
      } finally {
        closeStream(raw);
      }
    },

    async open(account, messageId) {
      for (let daysAgo = 0; daysAgo <= days; daysAgo++) {
        const storedMessage = await objects.open(keyOf(clock.now() - daysAgo * DAY_MS, account, messageId));
        if (storedMessage !== undefined) return storedMessage;
      }
      return undefined;
    },

    async sweep() {
      const oldest = `${PREFIX}${dayOf(clock.now() - days * DAY_MS)}/`;
      let deleted = 0;
      let keys: string[] = [];
      const drop = async () => {
        await objects.delete(keys);
        deleted += keys.length;
        keys = [];
      };
      for await (const { key } of objects.list(PREFIX)) {
        if (key >= oldest) break;
        keys.push(key);
        if (keys.length === BATCH_SIZE) await drop();
      }
      await drop();
      return deleted;
    },
  };
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
