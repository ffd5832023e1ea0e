export * from "./errors.ts";
export * from "./ports.ts";
export * from "./scripts/script.ts";
export * from "./bindings/service.ts";
export { createSendEmailService } from "./bindings/send-email/service.ts";
export { createRuntime, type RuntimeOptions } from "./runtime/pool.ts";
export { DEV_EGRESS, SERVE_EGRESS, type EgressPolicy } from "./runtime/egress/policy.ts";
export { DEFAULT_LIMITS, type RuntimeLimits } from "./runtime/watchdog.ts";
export type * from "./runtime/port.ts";
