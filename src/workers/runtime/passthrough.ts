import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../kernel/index.ts";
import { DISPATCH_HEADER, META_HEADER } from "./inside/shared.ts";
import type { Outcome } from "./port.ts";
import { RAY_HEADER } from "./tail-items.ts";

export interface Passthrough {
  /** Resolves when the response has ended; answers 502/503 by itself when the process dies before it has answered. */
  fetch(id: string, request: IncomingMessage, response: ServerResponse): Promise<Outcome>;
  upgrade(id: string, request: IncomingMessage, client: Duplex, head: Buffer): Promise<void>;
  close(): void;
}

const HOP_BY_HOP = new Set(["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]);
/** Only the server may say these. */
const RESERVED = new Set([DISPATCH_HEADER, META_HEADER, RAY_HEADER, "cf-connecting-ip", "x-real-ip"]);

/** Hands HTTP requests to the fetch handler of one worker process. `causeOfDeath` waits a moment for news of a process that hung up. */
export function createPassthrough({ socketPath, causeOfDeath }: { socketPath: string; causeOfDeath(err: unknown): Promise<Outcome> }): Passthrough {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 32, timeout: 4000, scheduling: "lifo" });

  return {
    async fetch(id, request, response) {
      const outgoing = httpRequest({ socketPath, agent, method: request.method, path: request.url, headers: forwardedHeaders(id, request), setHost: false });
      response.once("close", () => void (response.writableFinished || outgoing.destroy()));
      const answered = new Promise<IncomingMessage>((resolve, reject) => outgoing.once("response", resolve).once("error", reject));
      answered.catch(() => {});
      pipeline(request, outgoing).catch(() => {});
      try {
        const incoming = await answered;
        response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, withoutHopByHop(incoming.rawHeaders));
        await pipeline(incoming, response);
        // workerd answers 500 itself when the handler threw; the tail has the exception.
        return { outcome: "ok" };
      } catch (err) {
        if (response.destroyed && !response.writableFinished && outgoing.destroyed && !response.headersSent) return { outcome: "canceled" };
        return refuse(response, await causeOfDeath(err));
      }
    },
    upgrade(id, request, client, head) {
      const upstream = connect(socketPath);
      const headers = [...forwardedHeaders(id, request), "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? "websocket"];
      let lines = `${request.method} ${request.url} HTTP/1.1\r\n`;
      for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
      upstream.write(`${lines}\r\n`, "latin1");
      if (head.length > 0) upstream.write(head);
      return Promise.allSettled([pipeline(client, upstream), pipeline(upstream, client)]).then(() => {});
    },
    close: () => agent.destroy(),
  };
}

function refuse(response: ServerResponse, outcome: Outcome): Outcome {
  if (response.headersSent) {
    response.destroy();
  } else {
    const status = outcome.outcome === "exception" ? 502 : 503;
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "retry-after": "1" });
    response.end(`${outcome.exception?.message ?? "the worker did not answer"}\n`);
  }
  return outcome;
}

function forwardedHeaders(id: string, request: IncomingMessage): string[] {
  const headers: string[] = [];
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (!HOP_BY_HOP.has(name) && !RESERVED.has(name)) headers.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  const client = request.socket.remoteAddress ?? "";
  headers.push("CF-Connecting-IP", client, "X-Real-IP", client, "CF-Ray", id);
  // A request body of unknown length goes on chunked: Node frames it when neither header is there, but only if told that there is a body.
  if (request.headers["transfer-encoding"] !== undefined) headers.push("Transfer-Encoding", "chunked");
  return headers;
}

function withoutHopByHop(rawHeaders: string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!HOP_BY_HOP.has(rawHeaders[i]!.toLowerCase())) kept.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  return kept;
}

export const describeFailure = (err: unknown): Outcome => ({ outcome: "exception", exception: { name: "Error", message: `the worker did not answer: ${messageOf(err)}` } });
