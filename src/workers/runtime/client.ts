import type { IncomingMessage } from "node:http";

/** The client address of a request and its scheme, as reported by trusted proxies. */
interface Client {
  ip: string;
  scheme: "http" | "https";
}

export type ClientOf = (request: IncomingMessage) => Client;

/** The client of a request from another worker: the original client, if the calling worker forwarded its header. */
export const workerClient =
  (schemeHeader: string): ClientOf =>
  ({ headers }) => ({
    ip: String(headers["cf-connecting-ip"] ?? ""),
    scheme: headers[schemeHeader] === "http" ? "http" : "https",
  });

/** Without proxies: the peer of the connection. */
export const directClient: ClientOf = ({ socket }) => ({ ip: socket.remoteAddress ?? "", scheme: "http" });
