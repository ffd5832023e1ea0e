import type { Route } from "../../operation.ts";
import { consumerRoutes } from "./consumers.ts";
import { messageRoutes, type MessageRouteDeps } from "./messages.ts";
import { queueRoutes } from "./queues.ts";

/** Routes under /accounts/{account_id}/queues. */
export const queuesRoutes = (deps: MessageRouteDeps): Route[] => [
  ...queueRoutes(deps),
  ...consumerRoutes(deps),
  ...messageRoutes(deps),
];
