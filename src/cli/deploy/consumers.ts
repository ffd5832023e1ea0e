import type { Project } from "../../workers/project/index.ts";
import { at } from "../api/paths.ts";
import { findQueue } from "../queues/remote.ts";
import type { WorkerConnection } from "../worker-of.ts";

/**
 * Makes the worker the consumer of the queues in its configuration. Rejects with the API's error if a queue has another
 * consumer. Consumers removed from the configuration stay, as with `wrangler deploy`.
 */
export async function setConsumers(
  { api, base, name }: WorkerConnection,
  consumers: Project["queueConsumers"],
): Promise<void> {
  for (const consumer of consumers) {
    const { path, queue } = await findQueue(api, base, consumer.queue);
    const json = {
      type: "worker",
      script_name: name,
      dead_letter_queue: consumer.deadLetterQueue,
      settings: {
        batch_size: consumer.batchSize,
        max_wait_time_ms: consumer.maxWaitMs,
        max_retries: consumer.maxRetries,
        max_concurrency: consumer.maxConcurrency,
        retry_delay: consumer.retryDelay,
      },
    };
    const ownConsumer = queue.consumers.find(({ script }) => script === name);
    await (ownConsumer === undefined
      ? api.result("POST", `${path}/consumers`, { json })
      : api.result("PUT", `${path}/consumers${at`/${ownConsumer.consumer_id}`}`, { json }));
  }
}
