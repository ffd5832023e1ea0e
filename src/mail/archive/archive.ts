import { type Clock, type Log, utcDay } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import { closeStream } from "../messages/index.ts";
import type { ArchivedMail, MessageArchive } from "./port.ts";

interface MessageArchiveOptions {
  objects: ObjectStore;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Days that messages are kept. */
  days: number;
  /** Maximum total size of all messages in bytes; the oldest are deleted first. */
  maxBytes: number;
}

const PREFIX = "mail/received/";
const DAY_MS = 24 * 3_600_000;
const BATCH_SIZE = 500;
/** Folder of messages without an account. */
const NO_ACCOUNT = "none";

/** Keeps received messages as objects, in one folder per day. */
export function createMessageArchive({ objects, clock, log, days, maxBytes }: MessageArchiveOptions): MessageArchive {
  let storedBytes = 0;
  const keyOf = (day: number, { account, id }: ArchivedMail) =>
    `${PREFIX}${utcDay(day)}/${account || NO_ACCOUNT}/${id}.eml`;
  // A message that is received around midnight may be stored on the next day.
  const keysOf = (mail: ArchivedMail & { at: number }) => [keyOf(mail.at, mail), keyOf(mail.at + DAY_MS, mail)];

  return {
    get storedBytes() {
      return storedBytes;
    },
    set storedBytes(measured) {
      storedBytes = measured;
    },
    async store(mail, source) {
      if (storedBytes + source.size > maxBytes) {
        log.warn(
          { message: mail.id, limit: maxBytes },
          "mail: message not stored, because the limit email.store_gb is reached",
        );
        return;
      }
      const raw = source.open();
      try {
        // The message itself is delivered or queued, so this copy need not wait for the disk.
        const { size } = await objects.put(keyOf(clock.now(), mail), raw, {
          durable: false,
        });
        storedBytes += size;
      } catch (err) {
        log.warn({ err, message: mail.id }, "mail: failed to store a copy of a received message");
      } finally {
        closeStream(raw);
      }
    },

    async open(mail) {
      for (const key of keysOf(mail)) {
        const stored = await objects.open(key);
        if (stored !== undefined) return stored;
      }
      return undefined;
    },

    async delete(mails) {
      await objects.delete(mails.flatMap(keysOf));
    },

    async sweep() {
      const oldest = `${PREFIX}${utcDay(clock.now() - days * DAY_MS)}/`;
      let total = 0;
      for await (const { size } of objects.list(PREFIX)) total += size;
      let keys: string[] = [];
      let deleted = 0;
      const expiredFolders = new Set<string>();
      const drop = async () => {
        await objects.delete(keys);
        deleted += keys.length;
        keys = [];
      };
      // Keys begin with the day, so the oldest come first.
      for await (const { key, size } of objects.list(PREFIX)) {
        if (key >= oldest && total <= maxBytes) break;
        keys.push(key);
        if (key < oldest) expiredFolders.add(key.slice(0, oldest.length));
        total -= size;
        if (keys.length === BATCH_SIZE) await drop();
      }
      await drop();
      storedBytes = total;
      for (const folder of expiredFolders) await objects.removeEmptyFolders(folder);
      return deleted;
    },
  };
}
