import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import type { BindingServices } from "../bindings/service.ts";
import { createDeadLetters, type DeadLetters } from "./dead-letters.ts";
import { createDeliveries, type DeliveryOptions } from "./deliveries.ts";
import type { DeliveryDeps } from "./delivery.ts";
import { createQueueMessages } from "./messages.ts";
import { createMessagesTable } from "./messages-table.ts";
import type { QueueMessages, Queues } from "./port.ts";
import { createQueues } from "./queues.ts";
import { createQueuesTable } from "./queues-table.ts";
import { createQueueService } from "./service.ts";

interface QueueStoreDeps {
  db: Db;
  events: Events;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Creates a queue when a worker first sends to it. Default false. */
  createsQueues?: boolean;
}

/** The queues in a database, and the server side of their bindings. */
export interface QueueStore extends Pick<BindingServices["queue"], "handle"> {
  queues: Queues;
  messages: QueueMessages;
  /**
   * Delivers messages to workers until closed. `alone`: this process is the only one that uses the database; default
   * true for SQLite.
   */
  deliver(dispatch: DeliveryDeps["dispatch"], options?: DeliveryOptions): { close(): Promise<void> };
}

export function createQueueStore({
  db,
  events,
  clock,
  ids,
  log,
  createsQueues: creates = false,
}: QueueStoreDeps): QueueStore {
  const table = createQueuesTable(db);
  const rows = createMessagesTable(db);
  const queues = createQueues({ table, messages: rows, events, clock, ids });
  const deadLetters: DeadLetters = createDeadLetters({ table: rows, queues, events, clock, log });
  const messages = createQueueMessages({ table: rows, queues: table, deadLetters, events, clock, ids });
  const { handle } = createQueueService({ queues, messages, creates, clock, log });
  return {
    queues,
    messages,
    handle,
    deliver: (dispatch, options) =>
      createDeliveries({
        queues: table,
        table: rows,
        messages,
        deadLetters,
        dispatch,
        events,
        clock,
        ids,
        log,
        alone: !db.isShared,
        ...options,
      }),
  };
}
