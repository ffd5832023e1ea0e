import type { IncomingMessage, ServerResponse } from "node:http";
import type { Viewer, AccessPurpose } from "../access/index.ts";
import type { Video } from "../videos/index.ts";
import type { Sendable } from "./send-bytes.ts";

/**
 * A route under `/{id}`, where `id` is a uid or a signed token. Each folder exports its own routes; `delivery/` checks
 * access before it calls `handle`.
 */
export interface DeliveryRoute {
  /** For example `thumbnails/thumbnail.jpg`; `{name}` is one segment of the path. */
  path: string;
  purpose: AccessPurpose;
  /** Default GET (and HEAD with the same handler). */
  method?: "GET" | "POST";
  handle(viewing: DeliveryContext): Promise<void>;
}

/** A route under `/{id}` without an access check, for everyone who knows the id. The response is uncached JSON. */
export interface PublicRoute {
  /** Without parameters, for example `lifecycle`. */
  path: string;
  /** `host` is the host of the request. Rejects with a UserError that becomes the response. */
  read(id: string, host: string | undefined): Promise<object>;
}

export interface DeliveryContext {
  video: Video;
  /**
   * The id as in the path: a uid or a token. Pages and manifests repeat it in their URLs, so that access is checked
   * again.
   */
  id: string;
  /** Everything before `/{id}`: "" on a delivery host, a prefix in `reelpost dev`. */
  base: string;
  /** Scheme and host as seen by the viewer, without a trailing slash. */
  origin: string;
  params: Record<string, string>;
  query: URLSearchParams;
  viewer: Viewer;
  request: IncomingMessage;
  response: ServerResponse;
  /** Aborted when the viewer disconnects. */
  signal: AbortSignal;
  /**
   * Handles ranges, HEAD, ETag and If-None-Match. `cache`: "immutable" for content that never changes under its URL, or
   * a number of seconds, or absent.
   */
  sendObject(
    object: Sendable,
    metadata: { type: string; cache?: "immutable" | number; filename?: string },
  ): Promise<void>;
  /**
   * True if the response may begin before its length is known: a GET request for the whole object, over a version of
   * HTTP in which an incomplete response is recognizable.
   */
  acceptsGrowing: boolean;
  /**
   * Sends octets as they become available, without a length and an ETag. An error of `body` aborts the connection and is
   * thrown.
   */
  sendGrowing(body: AsyncIterable<Buffer>, metadata: { type: string; cache?: "immutable" | number }): Promise<void>;
  sendText(text: string, metadata: { type: string; cache?: number; status?: number }): void;
}
