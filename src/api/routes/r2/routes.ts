import type { Clock } from "../../../kernel/index.ts";
import type { Route } from "../../operation.ts";
import { bucketRoutes } from "./buckets.ts";
import { objectRoutes, type R2RouteDeps } from "./object.ts";
import { objectListRoutes } from "./objects.ts";

/** R2 routes under /accounts/{account_id}/r2. */
export const r2Routes = (parts: R2RouteDeps & { clock: Clock }): Route[] => [
  ...bucketRoutes(parts),
  ...objectListRoutes(parts),
  ...objectRoutes(parts),
];
