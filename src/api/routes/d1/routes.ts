import { systemClock, type Clock } from "../../../kernel/index.ts";
import { createD1BookmarkGenerator } from "../../../workers/index.ts";
import type { Route } from "../../operation.ts";
import { databaseRoutes, type D1RouteDeps } from "./databases.ts";
import { queryRoutes } from "./query.ts";
import { timeTravelRoutes } from "./time-travel.ts";
import { transferRoutes, type D1TransferDeps } from "./transfers.ts";

export { createD1TransferHttp, D1_TRANSFERS } from "./transfer-http.ts";

/** D1 routes under /accounts/{account_id}/d1. */
export const d1Routes = ({
  clock = systemClock,
  ...parts
}: D1RouteDeps & D1TransferDeps & { clock?: Clock }): Route[] => [
  ...databaseRoutes(parts),
  ...queryRoutes(parts),
  ...transferRoutes(parts),
  ...timeTravelRoutes({ list: parts.list, clock, bookmarkOf: createD1BookmarkGenerator(clock) }),
];
