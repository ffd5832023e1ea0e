import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "../../kernel/index.ts";
import type { Access } from "../access/index.ts";
import { createOwnHosts } from "../customers/index.ts";
import type { DeliveryRoute } from "../delivery/index.ts";
import { answerAsset } from "./answer-asset.ts";
import { type Assets, createAssets } from "./assets.ts";
import { metadataRoutes } from "./metadata.ts";
import { answerOembed } from "./oembed.ts";
import { pageRoutes } from "./pages.ts";
import { createPlayerVideos, type IsPublished, type IsRecorded } from "./player-video.ts";
import type { UploadPageConfig } from "./upload-config.ts";
import { answerUploadPage } from "./upload-page.ts";

interface PlayerOptions {
  access: Pick<Access, "check">;
  /** Path before `/{id}` and `/embed/`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** The client's address behind trusted proxies. */
  address(request: IncomingMessage): string;
  /** Scheme and host as seen by the viewer. */
  origin(request: IncomingMessage): string;
  /** Whose hosts `customer-<code>.<domain>` tell of the videos of their account only, as in delivery. Absent or empty: there are none. */
  domain?: string;
  /** Scheme and host for URLs in responses; undefined (default): those of the request. */
  publicOrigin?(): string | undefined;
  log: Log;
  /** So that viewers are told when a broadcast was interrupted. Absent: they only see it stop. */
  isPublished?: IsPublished;
  /** So that what is broadcast without a recording is shown over WebRTC (`webRTC/play`). Absent: it is not shown. */
  isRecorded?: IsRecorded;
  /** Default: those that come with the program. */
  assets?: Assets;
}

/** What people see of videos: pages with the player, and the scripts that other pages put it in with. */
export interface Player {
  /** Below `/{id}/`: iframe, watch, metadata. */
  delivery: DeliveryRoute[];
  /** Below `<base>/embed/`: scripts, styles, oEmbed. False: the address lies elsewhere, nothing was answered. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Answers a browser that was sent to an upload address (`<base>/upload/<uid>/<secret>`). */
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
  assets = createAssets({ log }),
}: PlayerOptions): Player {
  const prefix = `${base}/embed/`;
  const ownHost = createOwnHosts(domain);
  const playerVideo = createPlayerVideos({ isPublished, isRecorded });
  return {
    delivery: [...pageRoutes(assets, playerVideo), ...metadataRoutes(playerVideo)],
    async handle(request, response) {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      if (!path.startsWith(prefix)) return false;
      const name = path.slice(prefix.length);
      if (name === "oembed")
        await answerOembed({
          access,
          base,
          ip: address(request),
          ownHost,
          self: origin(request),
          shown: publicOrigin() ?? origin(request),
          request,
          response,
        });
      else await answerAsset(assets, name, request, response);
      return true;
    },
    uploadPage: (request, response, page) =>
      answerUploadPage(assets, request, response, { ...page, secure: origin(request).startsWith("https:") }),
  };
}
