import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "./databases.ts";

/** How the proxy treats a request. */
export type S3Fault =
  /** The request is forwarded after this time. */
  | { kind: "delay"; ms: number }
  /** The request does not reach the server. */
  | { kind: "status"; status: number; code: string }
  /** The connection is closed before the request reaches the server. */
  | { kind: "reset" }
  /** The server executes the request, but the connection is closed before the response. */
  | { kind: "lost response" }
  /** The connection is closed after this many bytes of the response body. */
  | { kind: "truncated"; bytes: number }
  /** The server executes the request, and the response is 200 with an error as its body. */
  | { kind: "200 with an error" };

export interface FaultyS3 {
  /** URL of the proxy, used instead of the endpoint. */
  endpoint: string;
  /** Called for each request; undefined forwards it unchanged. It can be replaced at any time. */
  fault: (request: { method: string; path: string; query: URLSearchParams }) => S3Fault | undefined;
  /** Number of requests so far. */
  readonly requests: number;
}

/** Starts an HTTP proxy that injects faults in front of an S3 server. Stops it when `scope` ends. */
export async function startFaultyS3(scope: Scope, target: string): Promise<FaultyS3> {
  let requests = 0;
  const proxy = {
    endpoint: "",
    fault: (() => undefined) as FaultyS3["fault"],
    get requests() {
      return requests;
    },
  };
  const server = createServer((incoming, response) => {
    requests++;
    const url = new URL(incoming.url!, target);
    const fault = proxy.fault({ method: incoming.method!, path: url.pathname, query: url.searchParams });
    forward(incoming, response, target, fault).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  scope.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return proxy;
}

async function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  target: string,
  fault: S3Fault | undefined,
): Promise<void> {
  if (fault?.kind === "reset") return void incoming.socket.resetAndDestroy();
  if (fault?.kind === "status") {
    incoming.resume();
    response.writeHead(fault.status, { "content-type": "application/xml" }).end(errorBody(fault.code));
    return;
  }
  if (fault?.kind === "delay") await sleep(fault.ms);
  const { hostname, port } = new URL(target);
  // The Host header is forwarded unchanged, because the signature covers it.
  const outgoing = request({ hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers });
  outgoing.on("error", () => incoming.socket.destroy());
  incoming.pipe(outgoing);
  const answer = await new Promise<IncomingMessage>((resolve) => outgoing.once("response", resolve));
  if (fault?.kind === "lost response" || fault?.kind === "200 with an error") {
    for await (const _ of answer);
    if (fault.kind === "lost response") return void incoming.socket.destroy();
    response.writeHead(200, { "content-type": "application/xml" }).end(errorBody("InternalError"));
    return;
  }
  response.writeHead(answer.statusCode!, answer.rawHeaders);
  if (fault?.kind !== "truncated") return void answer.pipe(response);
  let left = fault.bytes;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (left > 0) await new Promise((resolve) => response.write(chunk.subarray(0, left), resolve));
    left -= chunk.length;
    if (left <= 0) break;
  }
  incoming.socket.destroy();
}

const errorBody = (code: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
