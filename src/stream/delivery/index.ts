export { cacheControl } from "./cache-control.ts";
export { createDelivery } from "./delivery.ts";
export { httpError, sendErrorResponse } from "./refusal.ts";
export type { DeliveryRoute, PublicRoute, DeliveryContext } from "./route.ts";
export type { Sendable } from "./send-bytes.ts";
export { viewerName } from "./viewer-name.ts";
