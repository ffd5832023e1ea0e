export { createApi, type ApiOptions } from "./app.ts";
export { API_BASE } from "./base.ts";
export { DEFAULT_RATE_LIMIT, type RateLimit } from "./rate-limit.ts";
export type { Route } from "./operation.ts";
export type { Credentials, Gate } from "./ports.ts";
