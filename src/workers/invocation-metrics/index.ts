export { invocationMetricsMigrations, type InvocationColumn } from "./metrics-table.ts";
export { createInvocationMetrics, type InvocationMetrics, type InvocationSums } from "./metrics.ts";
export { quantile } from "./histogram.ts";
