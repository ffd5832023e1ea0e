import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/queues/decide.ts",
    from: "ackedIds.has(row.id) || (retry === undefined && isSuccessful)",
    to: "retry === undefined && isSuccessful",
    test: "src/workers/queues/decide.test.ts",
  },
  {
    file: "src/workers/queues/decide.ts",
    from: "row.attempts > maxRetries",
    to: "row.attempts >= maxRetries",
    test: "src/workers/queues/decide.test.ts",
  },
  {
    file: "src/workers/queues/decide.ts",
    from: "retry?.delaySeconds ?? retryAll?.delaySeconds ?? retryDelay",
    to: "retryAll?.delaySeconds ?? retryDelay",
    test: "src/workers/queues/decide.test.ts",
  },
  {
    file: "src/workers/queues/messages.ts",
    from: "if (total > batchBytes) throw queueErrors.batchTooLarge({ size: total, limit: batchBytes });",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages.ts",
    from: "events.publish(QUEUES_TOPIC, queue.id);",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages.ts",
    from: "if (row.attempts > consumer.maxRetries) return deadLetters.move(queue, consumer, token, [row]);",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages.ts",
    from: "if (queue.deliveryPaused) return [];",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages-table.ts",
    from: '.where("expires_at", ">", now)\n        .orderBy("due_at")\n        .orderBy("id")\n        .limit(limit);',
    to: '.orderBy("due_at")\n        .orderBy("id")\n        .limit(limit);',
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages-table.ts",
    from: '.set((eb) => ({ token, due_at: until, attempts: eb("attempts", "+", 1) }))',
    to: '.set((eb) => ({ token, due_at: now, attempts: eb("attempts", "+", 1) }))',
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/messages-table.ts",
    from: 'deleteAll(ids.where("queue_id", "=", queue).where("sent_at", "<=", now))',
    to: 'deleteAll(ids.where("queue_id", "=", queue))',
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/delivery.ts",
    from: "if (pastDueTimes.length < batchSize && filledAt > now) await wait",
    to: "if (pastDueTimes.length < batchSize && filledAt > now + 1e9) await wait",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/delivery.ts",
    from: "batches.size >= maxConcurrency",
    to: "batches.size > maxConcurrency",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/fair-slots.ts",
    from: "if (heldBy(account) >= total - used) return false;",
    to: "if (used >= total) return false;",
    test: "src/workers/queues/fair-slots.test.ts",
  },
  {
    file: "src/workers/queues/delivery.ts",
    from: "if (isAwaited() && now - startedAt >= yieldAfterMs) return;",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/delivery.ts",
    from: "await Promise.all([...batches].map(([batch, messageIds]) => table.renew(batch, messageIds, until)));",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/deliveries.ts",
    from: "if (alone) await queues.releaseAllLeases(clock.now());",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
  {
    file: "src/workers/queues/dead-letters.ts",
    from: "attempts: 0,",
    to: "",
    test: "src/workers/queues/queues.test.ts",
  },
];
