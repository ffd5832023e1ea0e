import { hash } from "node:crypto";
import { randomIds, type Clock, type Ids, type Log, utcDay } from "../../kernel/index.ts";
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
  /** Default: random. */
  ids?: Pick<Ids, "hex">;
  log: Log;
  /** Default 7. */
  days?: number;
}

const PREFIX = "mail/sent/";
const DAY_MS = 24 * 3_600_000;
const BATCH_SIZE = 500;

export function createSentMessages({
  objects,
  clock,
  ids = randomIds,
  log,
  days = 7,
}: SentMessagesOptions): SentMessages {
  const prefixOf = (day: number, account: string, messageId: string) =>
    `${PREFIX}${utcDay(day)}/${hash("sha256", `${account}\n${messageId}`, "hex").slice(0, 40)}`;

  return {
    days,
    async store({ account, messageId, source }) {
      const raw = source.open();
      try {
        // Not durable: the message itself is stored elsewhere or was rejected. The suffix is unique because several
        // messages may have the same Message-ID.
        const key = `${prefixOf(clock.now(), account, messageId)}-${ids.hex()}.eml`;
        await objects.put(key, raw, { durable: false });
      } catch (err) {
        log.warn({ err, messageId }, "mail: failed to store a copy of a sent message");
      } finally {
        closeStream(raw);
      }
    },

    async open(account, messageId) {
      for (let daysAgo = 0; daysAgo <= days; daysAgo++) {
        let latest: { key: string; modified: Date } | undefined;
        for await (const found of objects.list(prefixOf(clock.now() - daysAgo * DAY_MS, account, messageId)))
          if (latest === undefined || found.modified >= latest.modified) latest = found;
        const storedMessage = latest && (await objects.open(latest.key));
        if (storedMessage !== undefined) return storedMessage;
      }
      return undefined;
    },

    async sweep() {
      const oldest = `${PREFIX}${utcDay(clock.now() - days * DAY_MS)}/`;
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
