import type { Page, PageRequest } from "../../kernel/index.ts";
import type { ScriptReferences } from "../scripts/references.ts";

/** Manages the queues of accounts. Throws UserErrors of `queueErrors`. Changes resolve once they are on disk. */
export interface Queues {
  /** Throws nameTaken, badName, badQueueSettings, tooManyQueues. */
  create(account: string, name: string, settings?: Partial<QueueSettings>): Promise<Queue>;
  /** Returns the queue with this name, and creates it if it does not exist. Throws badName, tooManyQueues. */
  ensure(account: string, name: string): Promise<Queue>;
  /** Lists queues by name; with `names`, only those. */
  list(account: string, page: PageRequest, names?: readonly string[]): Promise<Page<Queue>>;
  get(account: string, id: string): Promise<Queue | undefined>;
  byName(account: string, name: string): Promise<Queue | undefined>;
  /** True if the queue exists. Used to check the target of a new binding. */
  exists(account: string, name: string): Promise<boolean>;
  /** Throws queueMissing, nameTaken, badName, badQueueSettings. */
  update(account: string, id: string, change: { name?: string; settings?: Partial<QueueSettings> }): Promise<Queue>;
  /** Deletes the queue, its consumer and its messages. Throws queueMissing. */
  delete(account: string, id: string): Promise<void>;

  /**
   * Adds a consumer to a queue, and creates the consumer's dead letter queue if it does not exist. Throws queueMissing,
   * consumerExists, badConsumerSettings.
   */
  addConsumer(account: string, queueId: string, consumer: NewConsumer): Promise<Consumer>;
  /** Replaces all settings. Throws consumerMissing and the errors of addConsumer(). */
  replaceConsumer(account: string, queueId: string, id: string, consumer: NewConsumer): Promise<Consumer>;
  /** Throws queueMissing, consumerMissing. */
  removeConsumer(account: string, queueId: string, id: string): Promise<void>;
  /** The workers that consume queues. */
  readonly references: ScriptReferences;
  /** Removes this worker as a consumer from all queues. */
  removeConsumersOf(account: string, script: string): Promise<void>;
  /** Removes the consumers of all workers that are not listed. */
  removeConsumersExcept(account: string, scripts: readonly string[]): Promise<void>;
  /**
   * Makes the worker the consumer of exactly these queues, which are created if they do not exist. Replaces other
   * consumers of these queues. For `reelpost dev`.
   */
  setConsumersOf(
    account: string,
    script: string,
    consumers: readonly (NewConsumer & { queue: string })[],
  ): Promise<void>;
}

/** Delays and periods are in seconds. */
export interface QueueSettings {
  deliveryDelay: number;
  deliveryPaused: boolean;
  retention: number;
  jurisdiction: string | undefined;
}

export interface Queue extends QueueSettings {
  /** 32 hex digits. */
  id: string;
  account: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
  purgedAt: Date | undefined;
  /** A queue has at most one consumer. */
  consumer: Consumer | undefined;
}

export interface Consumer extends Required<
  Omit<NewConsumer, "script" | "deadLetterQueue" | "maxConcurrency" | "retryDelay">
> {
  /** 32 hex digits. */
  id: string;
  createdAt: Date;
  script: string | undefined;
  deadLetterQueue: string | undefined;
  maxConcurrency: number | undefined;
  retryDelay: number | undefined;
}

/** Omitted settings use the published defaults. */
export interface NewConsumer {
  type: "worker" | "http_pull";
  /** Name of the worker that consumes the queue. */
  script?: string | undefined;
  /** Name of a queue. */
  deadLetterQueue?: string | undefined;
  batchSize?: number | undefined;
  maxWaitMs?: number | undefined;
  maxRetries?: number | undefined;
  maxConcurrency?: number | undefined;
  /** In seconds. */
  retryDelay?: number | undefined;
  visibilityMs?: number | undefined;
}

export type QueueContentType = "json" | "text" | "bytes" | "v8";

export interface NewMessage {
  contentType: QueueContentType;
  body: Uint8Array;
  /** In seconds; defaults to the delay of the queue. */
  delay?: number | undefined;
}

export interface QueueMessage {
  /** 32 hex digits. */
  id: string;
  contentType: QueueContentType;
  body: Uint8Array;
  sentAt: Date;
  /** Number of deliveries, including this one. */
  attempts: number;
}

/** Messages that are waiting or being delivered. Approximate: a busy queue is not recounted after every message. */
export interface QueueMetrics {
  backlogCount: number;
  backlogBytes: number;
  oldestMessage: Date | undefined;
}

/**
 * Sends and receives queue messages with at-least-once delivery: a message is redelivered until it is acknowledged,
 * dead-lettered or expired.
 */
export interface QueueMessages {
  /**
   * Resolves once all messages are on disk. Throws messageTooLarge, tooManyMessages, batchTooLarge, badDelay,
   * storageLimitExceeded.
   */
  send(queue: Queue, messages: readonly NewMessage[]): Promise<QueueMetrics>;
  metrics(queue: Pick<Queue, "id">): Promise<QueueMetrics>;
  /**
   * Leases up to `batchSize` messages to an HTTP pull consumer for `visibilityMs`. Resolves with no messages while
   * delivery is paused. Throws notPulled.
   */
  pull(
    queue: Queue,
    options: { batchSize?: number | undefined; visibilityMs?: number | undefined },
  ): Promise<(QueueMessage & { leaseId: string })[]>;
  /**
   * Acknowledges or retries leased messages. Resolves with the number of leases that were still valid, and a warning
   * for each message whose lease was not.
   */
  settle(
    queue: Queue,
    acks: readonly string[],
    retries: readonly { leaseId: string; delay?: number | undefined }[],
  ): Promise<{ acknowledged: number; retried: number; warnings: Record<string, string> }>;
  /** Returns the first messages without leasing them. */
  peek(queue: Queue, limit: number): Promise<QueueMessage[]>;
  /** Deletes all messages. */
  purge(queue: Queue): Promise<void>;
  /** Deletes expired messages. Call it periodically. */
  sweep(): Promise<void>;
}
