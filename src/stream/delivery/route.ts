import type { IncomingMessage, ServerResponse } from "node:http";
import type { Video } from "../videos/video.ts";
import type { Sendable } from "./send-bytes.ts";

/** What a viewer is after: `page` (iframe, watch) shows its own words when access is refused, `download` and `original` need their claims of a token. */
export type Want = "play" | "page" | "download" | "original";

/** One thing that is delivered below `/{id}`, `id` being a uid or a signed token. Each room exports its own; `delivery/` checks access before it is asked. */
export interface DeliveryRoute {
  /** Such as `thumbnails/thumbnail.jpg`; `{name}` is one segment of the path. */
  path: string;
  want: Want;
  /** Default GET (and HEAD by the same handler). */
  method?: "GET" | "POST";
  handle(viewing: Viewing): Promise<void>;
}

export interface Viewing {
  video: Video;
  /** The id as it stands in the path: a uid or a token. What is written into pages and manifests, so that it goes on being checked. */
  id: string;
  /** Everything before `/{id}`: "" on a delivery host, a prefix in `reelpost dev`. */
  base: string;
  /** Scheme and host as the viewer reached us, without a slash at the end. */
  origin: string;
  params: Record<string, string>;
  query: URLSearchParams;
  viewer: Viewer;
  request: IncomingMessage;
  response: ServerResponse;
  /** Aborted when the viewer has gone. */
  signal: AbortSignal;
  /** Ranges, HEAD, ETag and If-None-Match are done here. `cache`: "immutable" for what never changes under its address, a number of seconds, or none. */
  sendObject(object: Sendable, about: { type: string; cache?: "immutable" | number; filename?: string }): Promise<void>;
  sendText(text: string, about: { type: string; cache?: number; status?: number }): void;
}

/** Made by `viewerOf` of `access/viewer.ts`. */
export interface Viewer {
  ip: string;
  /** Of the page that asks: the Origin field, or else the origin of Referer. */
  origin?: string;
  /** What a page that is not ours may not be told of, or does not tell: see `access/viewer.ts`. Absent: `origin` decides. */
  place?: "ours" | "hidden";
}
