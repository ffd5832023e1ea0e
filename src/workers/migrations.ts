import type { Migration } from "../store/index.ts";
import { aiGatewayMigrations } from "./ai/index.ts";
import { analyticsMigrations } from "./bindings/analytics/index.ts";
import { d1Migrations } from "./bindings/d1/index.ts";
import { invocationMetricsMigrations } from "./invocation-metrics/index.ts";
import { kvMigrations } from "./bindings/kv/index.ts";
import { r2Migrations } from "./bindings/r2/index.ts";
import { assetMigrations } from "./assets/store/schema.ts";
import { bucketSettingsMigrations } from "./bucket-settings/index.ts";
import { queueMigrations } from "./queues/index.ts";
import { routingMigrations } from "./routing/index.ts";
import { secretsStoreMigrations } from "./secrets-store/index.ts";
import { scriptsMigrations } from "./scripts/schema.ts";
import { tailMigrations } from "./tails/index.ts";

/** The tables of this domain, in order of creation. */
export const workersMigrations: readonly Migration[] = [
  ...kvMigrations,
  ...r2Migrations,
  ...d1Migrations,
  ...scriptsMigrations,
  ...assetMigrations,
  ...tailMigrations,
  ...analyticsMigrations,
  ...queueMigrations,
  ...secretsStoreMigrations,
  ...routingMigrations,
  ...bucketSettingsMigrations,
  ...aiGatewayMigrations,
  ...invocationMetricsMigrations,
];
