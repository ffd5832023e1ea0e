export { queueErrors } from "./errors.ts";
export { queueLimits } from "./limits.ts";
export { queueMigrations } from "./schema.ts";
export { createQueueStore, type QueueStore } from "./queue-store.ts";
export type {
  Consumer as QueueConsumer,
  NewConsumer as NewQueueConsumer,
  NewMessage as NewQueueMessage,
  Queue,
  QueueMessage,
  QueueMessages,
  QueueMetrics,
  QueueSettings,
  Queues,
} from "./port.ts";
