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
const DAY = 24 * 3_600_000;
const AT_ONCE = 500;

export function createSentMessages({ objects, clock, log, days = 7 }: SentMessagesOptions): SentMessages {
  const keyOn = (day: number, account: string, messageId: string) =>
    `${PREFIX}${dayOf(day)}/${hash("sha256", `${account}\n${messageId}`, "hex").slice(0, 40)}.eml`;

  return {
    days,
    async store({ account, messageId, source }) {
      const raw = source.open();
      try {
        // The message itself is stored elsewhere or was rejected, so this copy need not wait for the disk.
        await objects.put(keyOn(clock.now(), account, messageId), raw, { durable: false });
      } catch (err) {
        log.warn({ err, messageId }, "mail: failed to store a copy of a sent message");
      } finally {
        closeStream(raw);
      }
    },

    async open(account, messageId) {
      for (let ago = 0; ago <= days; ago++) {
        const found = await objects.open(keyOn(clock.now() - ago * DAY, account, messageId));
        if (found !== undefined) return found;
      }
      return undefined;
    },

    async sweep() {
      const oldest = `${PREFIX}${dayOf(clock.now() - days * DAY)}/`;
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
        if (keys.length === AT_ONCE) await drop();
      }
      await drop();
      return deleted;
    },
  };
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
