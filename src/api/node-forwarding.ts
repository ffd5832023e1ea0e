import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ScriptRef } from "../workers/index.ts";

export type ForwardedRole = "api" | "workers" | "playback" | "live";

/** Sends requests for roles that this process lacks to nodes that have them. */
export interface NodeForwarding {
  /** True if this process has the role. */
  has(role: ForwardedRole): boolean;
  /** True if another node can take requests for the role. */
  offers(role: ForwardedRole): boolean;
  /** Resolves with a failure if no node has answered. */
  send(
    role: ForwardedRole,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ status: number; text: string } | undefined>;
  upgrade(role: ForwardedRole, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** For processes without the role `api`: what it serves besides the API itself. */
  api: {
    prefixes: readonly string[];
    /** Takes host names in lower case, without a port. */
    isDashboard(host: string): boolean;
    isSite(host: string): boolean | Promise<boolean>;
  };
  /** For processes without the role `workers`: the worker that a route or custom domain selects. */
  route(request: IncomingMessage): ScriptRef | undefined | Promise<ScriptRef | undefined>;
}
