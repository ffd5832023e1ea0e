/** Published limits, where 1 KB is 1000 bytes. */
export const queueLimits = {
  /** Maximum number of queues per account. */
  queues: 10_000,
  messageBytes: 128_000,
  /** Maximum number of messages in one sendBatch(), and maximum size of their bodies together. */
  batchMessages: 100,
  batchBytes: 256_000,
  /** Maximum backlog of a queue in bytes. */
  backlogBytes: 25_000_000_000,
  /** Maximum delay of sent and retried messages in seconds. */
  delaySeconds: 86_400,
  /** In seconds. */
  retention: { min: 60, max: 1_209_600, default: 345_600 },
  consumer: {
    batchSize: { min: 1, max: 100, default: 10 },
    maxWaitMs: { min: 0, max: 60_000, default: 5000 },
    maxRetries: { min: 0, max: 100, default: 3 },
    maxConcurrency: { min: 1, max: 250, default: 10 },
    visibilityMs: { min: 0, max: 43_200_000, default: 30_000 },
  },
  pull: { batchSize: { max: 100, default: 5 } },
} as const;
