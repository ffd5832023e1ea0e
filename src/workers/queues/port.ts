import type { Page, PageRequest } from "../../kernel/index.ts";

/** The queues of accounts. Throws UserErrors of `queueErrors`; every change resolves once it is on disk. */
export interface Queues {
  /** Throws nameTaken, badName, badQueueSettings, tooManyQueues. */
  create(account: string, name: string, settings?: Partial<QueueSettings>): Promise<Queue>;
  /** The queue with this name, created if it does not exist. Throws badName, tooManyQueues. */
  ensure(account: string, name: string): Promise<Queue>;
  /** Ordered by name. `names`: only these. */
  list(account: string, page: PageRequest, names?: readonly string[]): Promise<Page<Queue>>;
  get(account: string, id: string): Promise<Queue | undefined>;
  byName(account: string, name: string): Promise<Queue | undefined>;
  /** Used when creating a binding to the queue. */
  exists(account: string, name: string): Promise<boolean>;
  /** Throws queueMissing, nameTaken, badName, badQueueSettings. */
  update(account: string, id: string, change: { name?: string; settings?: Partial<QueueSettings> }): Promise<Queue>;
  /** Deletes the queue with its consumer and its messages. Throws queueMissing. */
  delete(account: string, id: string): Promise<void>;

  /** Throws queueMissing, consumerExists, badConsumerSettings. Creates the dead letter queue if it does not exist. */
  addConsumer(account: string, queueId: string, consumer: NewConsumer): Promise<Consumer>;
  /** Replaces all settings. Throws consumerMissing and what addConsumer() throws. */
  replaceConsumer(account: string, queueId: string, id: string, consumer: NewConsumer): Promise<Consumer>;
  /** Throws queueMissing, consumerMissing. */
  removeConsumer(account: string, queueId: string, id: string): Promise<void>;
  /** Removes the consumers that are this worker. */
  removeConsumersOf(account: string, script: string): Promise<void>;
  /** Removes the consumers of workers that are not listed. */
  keepConsumersOf(account: string, scripts: readonly string[]): Promise<void>;
  /**
   * Makes the worker the consumer of exactly these queues, created if they do not exist; a queue that has another worker
   * as its consumer gets this one. For `reelpost dev`.
   */
  setConsumersOf(
    account: string,
    script: string,
    consumers: readonly (NewConsumer & { queue: string })[],
  ): Promise<void>;
}

/** Delays and times in seconds. */
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
  /** At most one. */
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

/** Omitted settings have their published defaults. */
export interface NewConsumer {
  type: "worker" | "http_pull";
  /** The worker. */
  script?: string | undefined;
  /** The name of a queue. */
  deadLetterQueue?: string | undefined;
  batchSize?: number | undefined;
  maxWaitMs?: number | undefined;
  maxRetries?: number | undefined;
  maxConcurrency?: number | undefined;
  /** Seconds. */
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
  /** Deliveries including this one. */
  attempts: number;
}

/** Messages that are waiting or being delivered. Approximate: a busy queue is not recounted after every message. */
export interface QueueMetrics {
  backlogCount: number;
  backlogBytes: number;
  oldestMessage: Date | undefined;
}

/** The messages of queues. At least once: a message is delivered until it is acknowledged, dead-lettered or expired. */
export interface QueueMessages {
  /**
   * Resolves once all messages are on disk. Throws messageTooLarge, tooManyMessages, batchTooLarge, badDelay,
   * storageLimitExceeded.
   */
  send(queue: Queue, messages: readonly NewMessage[]): Promise<QueueMetrics>;
  metrics(queue: Pick<Queue, "id">): Promise<QueueMetrics>;
  /**
   * Leases up to `batchSize` messages to a puller for `visibilityMs`. Empty while the delivery is paused. Throws
   * notPulled.
   */
  pull(
    queue: Queue,
    options: { batchSize?: number | undefined; visibilityMs?: number | undefined },
  ): Promise<(QueueMessage & { leaseId: string })[]>;
  /** Ends leases. Resolves with the counts of leases that were still valid, and a warning for each other one. */
  settle(
    queue: Queue,
    acks: readonly string[],
    retries: readonly { leaseId: string; delay?: number | undefined }[],
  ): Promise<{ acknowledged: number; retried: number; warnings: Record<string, string> }>;
  /** The first messages, without leasing them. */
  peek(queue: Queue, limit: number): Promise<QueueMessage[]>;
  /** Deletes all messages. */
  purge(queue: Queue): Promise<void>;
  /** Deletes expired messages. Call it periodically. */
  sweep(): Promise<void>;
}
