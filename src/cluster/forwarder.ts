import { createHash } from "node:crypto";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { OriginalClient } from "../kernel/client-address.ts";
import { messageOf, type Log } from "../kernel/index.ts";
import { pipeBoth } from "../kernel/pipe-both.ts";
import { nodeHost, type NodeIdentity } from "./authority.ts";
import { parseHostPort } from "./address.ts";
import { clientHeaders, headersToForward } from "./forwarded-headers.ts";
import type { ClusterNode } from "./nodes-table.ts";

/** Why forwarding failed. The client has not received any part of a response. */
export interface ForwardFailure {
  status: 502 | 503 | 504;
  text: string;
}

interface ForwardTarget {
  role: string;
  client: OriginalClient;
  /** Requests with the same value go to the same node as long as the set of nodes does not change. */
  affinity?: string | undefined;
}

/** Sends requests to other nodes. Bodies are streamed in both directions. */
interface Forwarder {
  /** True if another node has the role, is live and is not draining. */
  canForward(role: string): boolean;
  request(
    target: ForwardTarget,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<ForwardFailure | undefined>;
  upgrade(target: ForwardTarget, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** Closes the connections to nodes that are no longer live. Call it after each membership change. */
  closeStale(): void;
  close(): void;
}

interface ForwarderDeps {
  id: string;
  nodes(): readonly ClusterNode[];
  identity: NodeIdentity;
  log: Log;
  onResult?(role: string, result: "answered" | "failed"): void;
  /** Defaults: 2 s, 5 min, 10,000 requests. */
  limits?: { connectMs?: number; responseMs?: number; maxOpen?: number };
}

const MAX_ATTEMPTS = 3;
/** Safe methods (RFC 9110 9.2.1): a request without a body is sent to another node if the first one dies. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

const UNREACHABLE: ForwardFailure = {
  status: 502,
  text: "No node that can handle this request is reachable. Try again.",
};
const LOST: ForwardFailure = {
  status: 502,
  text: "The node that handled this request stopped before it responded. The request may have taken effect.",
};
const LATE: ForwardFailure = { status: 504, text: "The node that handled this request did not respond in time." };
const FULL: ForwardFailure = { status: 503, text: "Too many requests are being forwarded to other nodes. Try again." };

export function createForwarder({ id, nodes, identity, log, onResult, limits = {} }: ForwarderDeps): Forwarder {
  const { connectMs = 2000, responseMs = 300_000, maxOpen = 10_000 } = limits;
  const agents = new Map<string, Agent>();
  /** Connections in use, by node. */
  const openRequests = new Map<string, Set<{ destroy(): void }>>();
  let openCount = 0;
  // New connections use the new certificate; requests in progress keep their connection.
  identity.onRenewed(() => agents.clear());

  const isTarget = (node: ClusterNode, role: string) =>
    node.id !== id && node.address !== "" && !node.isDraining && node.roles.includes(role);

  function targetsOf({ role, affinity }: ForwardTarget): ClusterNode[] {
    const targets = nodes().filter((node) => isTarget(node, role));
    const ranks = new Map(
      targets.map((node) => [node, affinity === undefined ? Math.random() : rank(node.id, affinity)]),
    );
    return targets.toSorted((one, other) => ranks.get(one)! - ranks.get(other)!).slice(0, MAX_ATTEMPTS);
  }

  function agentOf(node: ClusterNode): Agent {
    let agent = agents.get(node.id);
    if (agent === undefined) {
      agent = new Agent({
        keepAlive: true,
        keepAliveMsecs: 10_000,
        maxFreeSockets: 64,
        scheduling: "lifo",
        ...identity.tls(),
        minVersion: "TLSv1.3",
        // Verified against the certificate, because another node may now use the address.
        servername: nodeHost(node.id),
      });
      agents.set(node.id, agent);
    }
    return agent;
  }

  function track(node: ClusterNode, connection: { destroy(): void }): () => void {
    const tracked = openRequests.get(node.id) ?? new Set();
    openRequests.set(node.id, tracked.add(connection));
    openCount++;
    return () => {
      if (!tracked.delete(connection)) return;
      openCount--;
      if (tracked.size === 0 && openRequests.get(node.id) === tracked) openRequests.delete(node.id);
    };
  }

  function send(node: ClusterNode, request: IncomingMessage, headers: string[]): ClientRequest {
    const { host, port } = parseHostPort(node.address);
    return httpsRequest({
      host,
      port,
      agent: agentOf(node),
      method: request.method,
      path: request.url,
      headers,
      setHost: false,
    });
  }

  /**
   * Resolves when the connection is established. Nothing is sent before that, so the request can still go to another
   * node.
   */
  function connected(upstream: ClientRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no connection within ${connectMs} ms`));
        upstream.destroy();
      }, connectMs);
      const settle = (end: () => void) => {
        clearTimeout(timer);
        end();
      };
      upstream.once("error", (err) => settle(() => reject(err)));
      upstream.once("socket", (socket: Socket) => {
        if (upstream.reusedSocket || (socket as TLSSocket).authorized) return settle(resolve);
        socket.once("secureConnect", () => settle(resolve));
      });
    });
  }

  /** Resolves with the response; rejects if the node closes the connection or does not respond in time. */
  function answered(upstream: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      upstream.setTimeout(responseMs, () => {
        reject(LATE);
        upstream.destroy();
      });
      upstream.once("response", (response) => {
        upstream.setTimeout(0);
        resolve(response);
      });
      upstream.once("error", reject);
      upstream.once("close", () => reject(new Error("the connection was closed")));
    });
  }

  async function attempt(
    node: ClusterNode,
    { client }: ForwardTarget,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<"answered" | "next" | ForwardFailure> {
    const isChunked = request.headers["transfer-encoding"] !== undefined;
    const hasBody = isChunked || (request.headers["content-length"] ?? "0") !== "0";
    const upstream = send(node, request, [
      ...headersToForward(request),
      ...clientHeaders(client),
      ...(isChunked ? ["transfer-encoding", "chunked"] : []),
    ]);
    // Also handles errors after the start of the response, which the response stream reports as well.
    upstream.on("error", () => {});
    const untrack = track(node, upstream);
    upstream.once("close", untrack);
    const onClientGone = () => void (response.writableFinished || upstream.destroy());
    response.once("close", onClientGone);
    try {
      await connected(upstream);
    } catch (err) {
      response.off("close", onClientGone);
      if (response.destroyed) return "answered";
      log.warn({ node: node.name, address: node.address, reason: messageOf(err) }, "cluster: failed to reach a node");
      return "next";
    }
    const answer = answered(upstream);
    if (hasBody) {
      request.pipe(upstream);
      // The node may respond and close its connection early: the rest of the body is read and discarded.
      upstream.once("close", () => request.unpipe(upstream).resume());
    } else {
      upstream.end();
    }
    try {
      const upstreamResponse = await answer;
      response.writeHead(
        upstreamResponse.statusCode!,
        upstreamResponse.statusMessage!,
        headersToForward(upstreamResponse) as never,
      );
      response.flushHeaders();
      pipeline(upstreamResponse, response, () => {
        if (!upstreamResponse.complete) response.destroy();
      });
      return "answered";
    } catch (err) {
      response.off("close", onClientGone);
      if (hasBody) request.unpipe(upstream);
      if (response.destroyed) return "answered";
      if (err === LATE) return LATE;
      log.warn({ node: node.name, reason: messageOf(err) }, "cluster: node closed the connection before it responded");
      return !hasBody && SAFE_METHODS.has(request.method!) ? "next" : LOST;
    }
  }

  async function forwardUpgrade(
    node: ClusterNode,
    { client }: ForwardTarget,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<boolean> {
    const upstream = send(node, request, [
      ...headersToForward(request),
      ...clientHeaders(client),
      "connection",
      "Upgrade",
      "upgrade",
      request.headers.upgrade ?? "websocket",
    ]);
    upstream.on("error", () => {});
    const untrack = track(node, upstream);
    upstream.once("close", untrack);
    const onClientGone = () => upstream.destroy();
    socket.once("close", onClientGone);
    try {
      await connected(upstream);
    } catch (err) {
      socket.off("close", onClientGone);
      log.warn({ node: node.name, address: node.address, reason: messageOf(err) }, "cluster: failed to reach a node");
      return socket.destroyed;
    }
    const upgraded = new Promise<void>((resolve) => {
      upstream.setTimeout(responseMs, () => upstream.destroy());
      upstream.once("close", () => (socket.destroyed ? undefined : socket.end(BAD_GATEWAY), resolve()));
      upstream.once("upgrade", (response, upstreamSocket: Duplex, upstreamHead: Buffer) => {
        upstream.removeAllListeners("close");
        untrack();
        const release = track(node, upstreamSocket);
        upstreamSocket.once("close", release);
        (upstreamSocket as Socket).setTimeout(0);
        socket.write(statusAndHeaders(response, ["connection", "Upgrade", "upgrade", response.headers.upgrade ?? ""]));
        if (upstreamHead.length > 0) socket.write(upstreamHead);
        if (head.length > 0) upstreamSocket.write(head);
        pipeBoth(socket, upstreamSocket);
        resolve();
      });
      upstream.once("response", (response) => {
        upstream.setTimeout(0);
        upstream.removeAllListeners("close");
        upstream.once("close", untrack);
        socket.write(statusAndHeaders(response, ["connection", "close"]));
        pipeline(response, socket, () => socket.destroy());
        resolve();
      });
    });
    upstream.end();
    await upgraded;
    return true;
  }

  return {
    canForward: (role) => nodes().some((node) => isTarget(node, role)),
    async request(target, request, response) {
      if (openCount >= maxOpen) return FULL;
      for (const node of targetsOf(target)) {
        const result = await attempt(node, target, request, response);
        if (result === "next") continue;
        onResult?.(target.role, result === "answered" ? "answered" : "failed");
        return result === "answered" ? undefined : result;
      }
      onResult?.(target.role, "failed");
      return UNREACHABLE;
    },
    async upgrade(target, request, socket, head) {
      if (openCount < maxOpen)
        for (const node of targetsOf(target)) if (await forwardUpgrade(node, target, request, socket, head)) return;
      socket.end(BAD_GATEWAY);
    },
    closeStale() {
      const live = new Set(nodes().map((node) => node.id));
      for (const [node, agent] of agents) {
        if (live.has(node)) continue;
        agent.destroy();
        agents.delete(node);
      }
      for (const [node, connections] of openRequests)
        if (!live.has(node)) for (const connection of connections) connection.destroy();
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
      for (const connections of openRequests.values()) for (const connection of connections) connection.destroy();
    },
  };
}

const BAD_GATEWAY = "HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/** Rendezvous hashing: when a node leaves, only the requests of that node move to others. */
const rank = (node: string, affinity: string): number =>
  createHash("sha256").update(`${node} ${affinity}`).digest().readUInt32BE();

function statusAndHeaders(response: IncomingMessage, connection: string[]): string {
  const headers = [...headersToForward(response), ...connection];
  let text = `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}
