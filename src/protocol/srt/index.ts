export type { SrtConnection, SrtHandlers } from "./connection.ts";
export { listenSrt, type SrtDoor, type SrtListener, type SrtListenerOptions, type SrtRequest } from "./listener.ts";
export { SRT_REJECTION, type SrtRejection } from "./rejections.ts";
