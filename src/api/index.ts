export { createApiHandler } from "./api-handler.ts";
export { createJsonEndpoints, jsonEndpoint } from "./json-endpoints.ts";
export type { DevApiModules } from "./local-api.ts";
export { createPlatformApi } from "./platform-api.ts";
export { workerParent } from "./platform-host.ts";
export { createPlatformHttp, type PlatformHttp } from "./platform-http.ts";
export type { AccessControl } from "./ports.ts";

/** The operations take more than 10 MB of memory: only a process that uses them loads them. */
export const loadLocalApi = () => import("./local-api.ts");
export const loadVideoApi = () => import("./video-api.ts");
