import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "../../kernel/index.ts";
import type { Access } from "../access/index.ts";
import { createAccountHostCheck } from "../customers/index.ts";
import type { DeliveryRoute } from "../delivery/index.ts";
import { serveAsset } from "./answer-asset.ts";
import { type PlayerAssets, createPlayerAssets } from "./assets.ts";
import { metadataRoutes } from "./metadata.ts";
import { serveOembed } from "./oembed.ts";
import { pageRoutes } from "./pages.ts";
import { type ChaptersOf, createPlayerVideos, type IsPublished, type IsRecorded } from "./player-video.ts";
import type { UploadPageConfig } from "./upload-config.ts";
import { serveUploadPage } from "./upload-page.ts";

interface PlayerOptions {
  access: Pick<Access, "check">;
  /** Path before `/{id}` and `/embed/`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Returns the client's IP address behind trusted proxies. */
  address(request: IncomingMessage): string;
  /** Scheme and host as seen by the viewer. */
  origin(request: IncomingMessage): string;
  /**
   * Domain of the hosts `customer-<code>.<domain>`, which serve only the videos of their account, as in delivery. If
   * absent or empty, there are no such hosts.
   */
  domain?: string;
  /** Scheme and host for URLs in responses. Default (undefined): those of the request. */
  publicOrigin?(): string | undefined;
  log: Log;
  /** Reports interrupted broadcasts to viewers. If absent, viewers only notice that playback stops. */
  isPublished?: IsPublished;
  /** Allows unrecorded broadcasts to play over WebRTC (`webRTC/play`). If absent, they are not shown. */
  isRecorded?: IsRecorded;
  /** Default: no video has chapters. */
  chaptersOf?: ChaptersOf;
  /** Default: the assets bundled with the program. */
  assets?: PlayerAssets;
}

/** Public pages of videos: pages with the player, and the scripts that embed it in other pages. */
export interface Player {
  /** Routes under `/{id}/`: iframe, watch, metadata. */
  delivery: DeliveryRoute[];
  /**
   * Serves `<base>/embed/`: scripts, styles, oEmbed. Returns false, without sending anything, if the URL is outside it.
   */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Responds to a browser that opens an upload URL (`<base>/upload/<uid>/<secret>`). */
  uploadPage(request: IncomingMessage, response: ServerResponse, page: UploadPageConfig): Promise<void>;
}

export function createPlayer({
  access,
  base = "",
  address,
  origin,
  domain,
  publicOrigin = () => undefined,
  log,
  isPublished,
  isRecorded,
  chaptersOf,
  assets = createPlayerAssets({ log }),
}: PlayerOptions): Player {
  const prefix = `${base}/embed/`;
  const isAccountHost = createAccountHostCheck(domain);
  const playerVideo = createPlayerVideos({ isPublished, isRecorded, chaptersOf });
  return {
    delivery: [...pageRoutes(assets, playerVideo), ...metadataRoutes(playerVideo)],
    async handle(request, response) {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      if (!path.startsWith(prefix)) return false;
      const name = path.slice(prefix.length);
      if (name === "oembed")
        await serveOembed({
          access,
          base,
          ip: address(request),
          isAccountHost,
          self: origin(request),
          publicOrigin: publicOrigin() ?? origin(request),
          request,
          response,
        });
      else await serveAsset(assets, name, request, response);
      return true;
    },
    uploadPage: (request, response, page) =>
      serveUploadPage(assets, request, response, { ...page, secure: origin(request).startsWith("https:") }),
  };
}
