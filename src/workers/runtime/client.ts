import type { IncomingMessage } from "node:http";

/** Who sent a request, and how: where proxies are trusted, as they say. */
export interface Client {
  ip: string;
  scheme: "http" | "https";
}

export type ClientOf = (request: IncomingMessage) => Client;

/** Without proxies it is the peer of the connection. */
export const directClient: ClientOf = ({ socket }) => ({ ip: socket.remoteAddress ?? "", scheme: "http" });
