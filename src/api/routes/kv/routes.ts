import type { Clock } from "../../../kernel/index.ts";
import type { KvBulk, KvNamespaces, KvStore } from "../../../workers/index.ts";
import type { ChosenIds } from "../../chosen-id.ts";
import type { Route } from "../../operation.ts";
import { keyRoutes } from "./keys.ts";
import { namespaceRoutes } from "./namespaces.ts";
import { valueRoutes } from "./values.ts";

interface KvRouteDeps {
  namespaces: KvNamespaces;
  store: KvStore;
  bulk: KvBulk;
  clock: Clock;
  chosenIds?: ChosenIds;
}

/** Workers KV routes under /accounts/{account_id}/storage/kv. */
export const kvRoutes = (parts: KvRouteDeps): Route[] => [
  ...namespaceRoutes(parts),
  ...keyRoutes(parts),
  ...valueRoutes(parts),
];
