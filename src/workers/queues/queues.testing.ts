import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type Clock, type UserError } from "../../kernel/index.ts";
import { createLocalEvents, type Db, type Events } from "../../store/index.ts";
import type { QueueBatch, QueueOutcome } from "../runtime/port.ts";
import { createQueueStore, queueMigrations, type NewQueueMessage, type QueueStore } from "./index.ts";

export const ACCOUNT = "a".repeat(32);

interface QueuesFixture extends QueueStore {
  db: Db;
  events: Events;
  clock: Clock & { advance(ms: number): void };
  /** Resolves with the queue store of a second process on the same database. */
  another(): Promise<QueueStore>;
}

export async function startQueues(
  engine: TestEngine,
  scope: { after(end: () => Promise<void>): void },
  clock = createManualClock(1_800_000_000_000),
): Promise<QueuesFixture> {
  const { db, another } = await engine.open(scope, queueMigrations);
  const events = createLocalEvents({ log: silentLog });
  scope.after(() => events.close());
  const shared = { events, clock, ids: randomIds, log: silentLog };
  return {
    ...createQueueStore({ db, ...shared }),
    db,
    events,
    clock,
    another: async () => createQueueStore({ db: await another(), ...shared }),
  };
}

export const json = (value: unknown, delay?: number): NewQueueMessage => ({
  contentType: "json",
  body: Buffer.from(JSON.stringify(value)),
  delay,
});

export const valueOf = ({ body }: { body: Uint8Array }): unknown => JSON.parse(Buffer.from(body).toString());

export const refused = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  return true;
};

export const OK: QueueOutcome = { outcome: "ok", started: true, ackAll: false, acks: [], retries: [] };

/** Creates a fake worker. The test takes its batches one by one and ends them. */
export function createFakeWorker() {
  const waiting: { batch: QueueBatch; answer: (outcome: QueueOutcome) => void }[] = [];
  const unanswered = new Set<(outcome: QueueOutcome) => void>();
  let arrived = Promise.withResolvers<void>();
  let ended = false;
  return {
    dispatch: (_ref: unknown, batch: QueueBatch) =>
      new Promise<QueueOutcome>((resolve) => {
        if (ended) return resolve(OK);
        const answer = (outcome: QueueOutcome) => {
          unanswered.delete(answer);
          resolve(outcome);
        };
        unanswered.add(answer);
        waiting.push({ batch, answer });
        arrived.resolve();
      }),
    get waiting() {
      return waiting.length;
    },
    /** Resolves with the next batch and a function that ends it. */
    async next() {
      for (; waiting.length === 0; await arrived.promise) arrived = Promise.withResolvers();
      return waiting.shift()!;
    },
    /** Ends all batches, including future ones, so that a failed test ends. */
    end() {
      ended = true;
      for (const answer of unanswered) answer(OK);
    },
  };
}
