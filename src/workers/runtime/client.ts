import type { IncomingMessage } from "node:http";

/** The client address of a request and its scheme, as reported by trusted proxies. */
export interface Client {
  ip: string;
  scheme: "http" | "https";
}

export type ClientOf = (request: IncomingMessage) => Client;

/** Without proxies: the peer of the connection. */
export const directClient: ClientOf = ({ socket }) => ({ ip: socket.remoteAddress ?? "", scheme: "http" });
