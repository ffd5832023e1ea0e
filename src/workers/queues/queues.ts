import type { Clock, Ids } from "../../kernel/index.ts";
import { isUniqueViolation, type Events } from "../../store/index.ts";
import { queueErrors } from "./errors.ts";
import { queueLimits } from "./limits.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { Consumer, NewConsumer, Queue, Queues } from "./port.ts";
import type { QueuesTable } from "./queues-table.ts";
import type { ConsumerRow, QueueRow } from "./schema.ts";
import { checkQueueName, consumerColumns, consumerOf, queueOf, settingColumns } from "./settings.ts";

/** Published when a queue has new messages or changed settings. The event id is the id of the queue. */
export const QUEUES_TOPIC = "queues";

interface QueuesDeps {
  table: QueuesTable;
  messages: Pick<MessagesTable, "purge">;
  events: Events;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  maxQueues?: number;
}

export function createQueues({
  table,
  messages,
  events,
  clock,
  ids,
  maxQueues = queueLimits.queues,
}: QueuesDeps): Queues {
  async function findOrCreate(account: string, name: string, settings: Parameters<typeof settingColumns>[0] = {}) {
    checkQueueName(name);
    const now = clock.now();
    const row: QueueRow = {
      id: ids.hex(),
      account_id: account,
      name,
      created_at: now,
      modified_at: now,
      delivery_delay: 0,
      delivery_paused: 0,
      retention: queueLimits.retention.default,
      jurisdiction: null,
      purged_at: null,
      ...settingColumns(settings),
    };
    const writeResult = await table.create(row, maxQueues).catch(async (err: unknown) => {
      const other = isUniqueViolation(err) ? await table.findByName(account, name) : undefined;
      if (other === undefined) throw err;
      return { row: other, created: false };
    });
    if (writeResult === "too many") throw queueErrors.tooManyQueues({ limit: maxQueues });
    return writeResult;
  }

  async function getOrThrow(account: string, id: string): Promise<Queue> {
    const row = await table.find(account, id);
    if (row === undefined) throw queueErrors.queueMissing({ queue: id });
    return queueOf(row);
  }

  async function getOrCreate(account: string, name: string): Promise<Queue> {
    return getOrThrow(account, (await findOrCreate(account, name)).row.id);
  }

  async function columnsFor(account: string, queue: Queue, consumer: NewConsumer) {
    const columns = consumerColumns(queue, consumer);
    if (columns.dead_letter_queue !== null) await findOrCreate(account, columns.dead_letter_queue);
    return columns;
  }

  async function addConsumer(account: string, queueId: string, consumer: NewConsumer): Promise<Consumer> {
    const queue = await getOrThrow(account, queueId);
    const row: ConsumerRow = {
      id: ids.hex(),
      queue_id: queueId,
      account_id: account,
      created_at: clock.now(),
      owner: null,
      owner_until: 0,
      ...(await columnsFor(account, queue, consumer)),
    };
    const consumerExistsError = (other: Consumer | undefined) =>
      queueErrors.consumerExists({ queue: queue.name, consumer: other?.script ?? "an HTTP pull consumer" });
    if (queue.consumer !== undefined) throw consumerExistsError(queue.consumer);
    if (!(await table.addConsumer(row))) throw consumerExistsError((await getOrThrow(account, queueId)).consumer);
    events.publish(QUEUES_TOPIC, queueId);
    return consumerOf(row);
  }

  async function replaceConsumer(account: string, queueId: string, id: string, consumer: NewConsumer) {
    const queue = await getOrThrow(account, queueId);
    const columns = await columnsFor(account, queue, consumer);
    if (!(await table.updateConsumer({ id, queue_id: queueId }, columns)))
      throw queueErrors.consumerMissing({ queue: queue.name, consumer: id });
    events.publish(QUEUES_TOPIC, queueId);
    return (await getOrThrow(account, queueId)).consumer!;
  }

  return {
    async create(account, name, settings) {
      const { row, created } = await findOrCreate(account, name, settings);
      if (!created) throw queueErrors.nameTaken({ name });
      return queueOf({ ...row, consumer: undefined });
    },
    ensure: getOrCreate,
    async list(account, page, names) {
      const { items, total } = await table.page(account, names, page);
      return { items: items.map(queueOf), total };
    },
    async get(account, id) {
      const row = await table.find(account, id);
      return row && queueOf(row);
    },
    async byName(account, name) {
      const row = await table.findByName(account, name);
      return row && getOrThrow(account, row.id);
    },
    exists: async (account, name) => (await table.findByName(account, name)) !== undefined,
    async update(account, id, { name, settings = {} }) {
      const queue = await getOrThrow(account, id);
      if (name !== undefined && name !== queue.name) checkQueueName(name);
      const values = {
        ...settingColumns(settings),
        ...(name !== undefined && { name }),
        modified_at: clock.now(),
      };
      const writeResult = await table.update(id, values);
      if (writeResult === "name taken") throw queueErrors.nameTaken({ name });
      events.publish(QUEUES_TOPIC, id);
      return getOrThrow(account, id);
    },
    async delete(account, id) {
      if (!(await table.delete(account, id))) throw queueErrors.queueMissing({ queue: id });
      await messages.purge(id, clock.now());
    },
    addConsumer,
    replaceConsumer,
    async removeConsumer(account, queueId, id) {
      const queue = await getOrThrow(account, queueId);
      if (!(await table.deleteConsumer(queueId, id)))
        throw queueErrors.consumerMissing({ queue: queue.name, consumer: id });
    },
    references: {
      async rename(tx, change) {
        const queueIds = await table.renameScript(tx, change);
        return () => {
          for (const id of queueIds) events.publish(QUEUES_TOPIC, id);
        };
      },
    },
    async removeConsumersOf(account, script) {
      for (const { queue_id, id } of await table.consumersOf(account, script)) await table.deleteConsumer(queue_id, id);
    },
    async removeConsumersExcept(account, scripts) {
      for (const { queue_id, id, script } of await table.consumersOf(account))
        if (script !== null && !scripts.includes(script)) await table.deleteConsumer(queue_id, id);
    },
    async setConsumersOf(account, script, consumers) {
      const consumedQueueIds = new Set<string>();
      for (const { queue: name, ...consumer } of consumers) {
        const queue = await getOrCreate(account, name);
        consumedQueueIds.add(queue.id);
        if (queue.consumer === undefined) await addConsumer(account, queue.id, { ...consumer, script });
        else await replaceConsumer(account, queue.id, queue.consumer.id, { ...consumer, script });
      }
      for (const { queue_id, id } of await table.consumersOf(account, script))
        if (!consumedQueueIds.has(queue_id)) await table.deleteConsumer(queue_id, id);
    },
  };
}
