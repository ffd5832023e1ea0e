export type { SrtConnection, SrtHandlers } from "./connection.ts";
export { createSrtListener, type SrtListenerDeps, type SrtStream } from "./listener.ts";
export { type SrtRejection } from "./rejections.ts";
