import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ScriptRef } from "../workers/index.ts";

export type ForwardedRole = "api" | "workers" | "playback" | "live";

/** Forwards requests to nodes with the roles that this process lacks. */
export interface NodeForwarding {
  /** True if this process has the role. */
  has(role: ForwardedRole): boolean;
  /** True if another node can handle requests for the role. */
  canForward(role: ForwardedRole): boolean;
  /** Resolves with the failure if no node responded. */
  send(
    role: ForwardedRole,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ status: number; text: string } | undefined>;
  upgrade(role: ForwardedRole, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** For processes without the role `api`: which requests other than API calls the role handles. */
  api: {
    prefixes: readonly string[];
    /** Expects host names in lower case, without a port. */
    isDashboard(host: string): boolean;
    isSite(host: string): boolean | Promise<boolean>;
  };
  /** For processes without the role `workers`: returns the worker that a route or custom domain selects. */
  route(request: IncomingMessage): ScriptRef | undefined | Promise<ScriptRef | undefined>;
}
