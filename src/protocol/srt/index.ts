export type { SrtConnection, SrtHandlers } from "./connection.ts";
export { listenSrt, type SrtDoor } from "./listener.ts";
export { type SrtRejection } from "./rejections.ts";
