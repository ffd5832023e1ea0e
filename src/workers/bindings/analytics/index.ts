export { createAnalytics, type Analytics } from "./analytics.ts";
export { MAX_QUERY_BYTES as ANALYTICS_QUERY_BYTES } from "./limits.ts";
export { analyticsMigrations } from "./points-table.ts";
export { createAnalyticsService } from "./service.ts";
