import type { IncomingMessage } from "node:http";
import { createClientAddress } from "../../api/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import {
  type Access,
  createDelivery,
  createPlayback,
  type Delivery,
  type DeliveryRoute,
  type PlaybackOptions,
} from "../../stream/index.ts";
import type { Basics } from "../compose.ts";

export interface ServeDeliveryParts extends Omit<PlaybackOptions, "hotBytes"> {
  settings: Pick<Settings, "http" | "stream">;
  access: Access;
  /** Of every other room: thumbnails, downloads, player. */
  routes: readonly DeliveryRoute[];
  /** Before `/{id}`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Around the routes of playback: broadcasts before them, and what counts viewers. */
  around?: (routes: readonly DeliveryRoute[]) => DeliveryRoute[];
}

export interface ServeDelivery extends Delivery {
  /** For what is delivered beside it: who asks, and scheme and host as the viewer reached us. */
  address(request: IncomingMessage): string;
  origin(request: IncomingMessage): string;
}

/** What viewers ask for, on the platform's own port and on the hosts of accounts. */
export function composeDelivery(
  { settings, access, routes, base = "", around = (given) => [...given], ...playback }: ServeDeliveryParts,
  { log }: Pick<Basics, "log">,
): ServeDelivery {
  const client = createClientAddress(settings.http.trusted_proxies);
  const address = (request: IncomingMessage) => client.ip(request) ?? "";
  const origin = (request: IncomingMessage) => `${client.scheme(request)}://${request.headers.host ?? "localhost"}`;
  const delivery = createDelivery({
    access,
    base,
    address,
    origin,
    domain: settings.stream.delivery_domain,
    log,
    routes: [
      ...around(createPlayback({ ...playback, hotBytes: settings.stream.segment_cache_mb * 1024 * 1024 })),
      ...routes,
    ],
  });
  return { ...delivery, address, origin };
}
