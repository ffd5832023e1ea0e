import type { Clock, Log } from "../../kernel/index.ts";
import type { R2Change } from "../bindings/r2/index.ts";
import type { Queue, QueueMessages, Queues } from "../queues/index.ts";
import type { BucketSettingsStore, NotificationRule } from "./port.ts";

interface NotificationDeps {
  settings: Pick<BucketSettingsStore, "get">;
  queues: Pick<Queues, "get">;
  messages: Pick<QueueMessages, "send">;
  clock: Clock;
  log: Log;
}

/** Maximum number of messages per call to `send`. The published limits of a batch are 100 messages and 256 kB. */
const MESSAGES_PER_BATCH = 50;

/**
 * Sends event notifications for object changes to queues, as JSON. A change is acknowledged after its messages are on
 * disk, so a crash loses no message of an acknowledged change. If a queue rejects the messages, the change still
 * succeeds.
 */
export function createR2Notifications({ settings, queues, messages, clock, log }: NotificationDeps) {
  async function notify(change: R2Change): Promise<void> {
    const { notifications, account = "", name = change.bucket } = await settings.get(change.bucket);
    if (notifications.length === 0) return;
    const eventTime = new Date(clock.now()).toISOString();
    const byQueue = Map.groupBy(
      notifications.filter(({ actions }) => actions.includes(change.action)),
      ({ queue }) => queue,
    );
    for (const [id, rules] of byQueue) {
      const objects = change.objects.filter(({ key }) => rules.some((rule) => matchesRule(rule, key)));
      if (objects.length === 0) continue;
      const queue = await queues.get(account, id);
      if (queue === undefined) continue;
      const bodies = objects.map(({ key, size, etag }) => ({
        account,
        action: change.action,
        bucket: name,
        object: { key, ...(size !== undefined && { size }), ...(etag !== undefined && { eTag: etag }) },
        eventTime,
        ...(change.copiedFrom && {
          copySource: { bucket: change.copiedFrom.bucket, object: change.copiedFrom.key },
        }),
      }));
      await sendAll(queue, bodies);
    }
  }

  async function sendAll(queue: Queue, bodies: object[]): Promise<void> {
    for (let start = 0; start < bodies.length; start += MESSAGES_PER_BATCH)
      await messages.send(
        queue,
        bodies
          .slice(start, start + MESSAGES_PER_BATCH)
          .map((body) => ({ contentType: "json" as const, body: Buffer.from(JSON.stringify(body)) })),
      );
  }

  return {
    async onChange(change: R2Change): Promise<void> {
      await notify(change).catch((err: unknown) =>
        log.warn({ err, bucket: change.bucket, action: change.action }, "r2: failed to send event notifications"),
      );
    },
  };
}

const matchesRule = ({ prefix = "", suffix = "" }: NotificationRule, key: string) =>
  key.startsWith(prefix) && key.endsWith(suffix);
