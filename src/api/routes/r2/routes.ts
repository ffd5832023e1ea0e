import type { Clock } from "../../../kernel/index.ts";
import type { Route } from "../../operation.ts";
import { bucketRoutes } from "./buckets.ts";
import { bucketDomainRoutes, type BucketDomainRouteDeps } from "./domains.ts";
import { notificationRoutes, type NotificationRouteDeps } from "./notifications.ts";
import { objectRoutes, type R2RouteDeps } from "./object.ts";
import { objectListRoutes } from "./objects.ts";
import { bucketRuleRoutes } from "./rules.ts";

/** R2 routes under /accounts/{account_id}/r2 and /accounts/{account_id}/event_notifications/r2. */
export const r2Routes = (
  parts: R2RouteDeps & BucketDomainRouteDeps & NotificationRouteDeps & { clock: Clock },
): Route[] => [
  ...bucketRoutes(parts),
  ...bucketRuleRoutes(parts),
  ...bucketDomainRoutes(parts),
  ...notificationRoutes(parts),
  ...objectListRoutes(parts),
  ...objectRoutes(parts),
];
