export { createApiHandler } from "./api-handler.ts";
export { createApi } from "./app.ts";
export { createJsonEndpoints, jsonEndpoint } from "./json-endpoints.ts";
export { createLocalApi, type DevApiModules } from "./local-api.ts";
export { createPlatformApi } from "./platform-api.ts";
export { workerParent } from "./platform-host.ts";
export { createPlatformHttp, type PlatformHttp } from "./platform-http.ts";
export type { AccessControl } from "./ports.ts";
export { streamRoutes } from "./routes/stream/index.ts";
