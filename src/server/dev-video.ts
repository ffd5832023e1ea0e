import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { createApi, type Gate, streamRoutes } from "../api/index.ts";
import { refuse, VIDEO_PREFIX } from "../dev/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { createSecrets, loadKeyFile } from "../store/index.ts";
import { createStream, type Stream } from "../stream/index.ts";
import type { StreamPort } from "../workers/index.ts";
import type { Basics, Store } from "./compose.ts";
import { ROLES } from "./roles.ts";

export interface DevVideoParts {
  store: Store;
  dataDir: string;
  settings: Settings;
  base: () => string;
}

export interface DevVideo {
  binding: StreamPort;
  /** Below VIDEO_PREFIX: videos, their player, uploads, and the operations of the v4 API that are about videos. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

/** There are no accounts in `reelpost dev`: all videos are of one. */
const ACCOUNT = "0".repeat(32);
const API = `${VIDEO_PREFIX}client/v4/`;
/** Whoever comes is the developer, whatever the token. */
const OPEN: Gate = {
  authenticate: async () => ({
    tokenId: ACCOUNT,
    user: { id: ACCOUNT, email: "developer@localhost" },
    accounts: [ACCOUNT],
    allows: () => true,
  }),
  accountExists: async (id) => id === ACCOUNT,
  zoneAccount: async () => undefined,
};

/**
 * The whole of Stream for a developer's workers. It begins with the first call of a stream binding or the first request for a video: most workers
 * have none, and ffmpeg is nobody's business until then. What is sent to this machine and fetched from it is allowed.
 */
export function composeDevVideo({ store, dataDir, settings, base }: DevVideoParts, basics: Basics): DevVideo {
  let begun: Begun | undefined;
  function begin() {
    if (begun !== undefined) return begun;
    const stream = createStream(
      {
        store,
        serverUrl: base,
        secrets: createSecrets({ keys: loadKeyFile(join(dataDir, "secrets.key")) }),
        settings: { ...settings, stream: { ...settings.stream, allow_private: true } },
        roles: new Set(ROLES),
        base: VIDEO_PREFIX.slice(0, -1),
        folder: join(dataDir, "video"),
        defaultAccount: ACCOUNT,
      },
      basics,
    );
    // Ports of broadcasts may be somebody else's; everything else works without.
    const listening = stream
      .listen()
      .catch((err: unknown) => basics.log.warn({ err }, "no broadcasts can be published over RTMP and SRT"));
    stream.start();
    const api = createApi({
      ...basics,
      routes: streamRoutes(stream),
      version: "dev",
      gate: OPEN,
      rateLimit: { requests: 0, seconds: 1 },
    });
    return (begun = { stream, listening, api: getRequestListener(api.fetch, { overrideGlobalObjects: false }) });
  }
  return {
    binding: { call: (...call) => begin().stream.binding.call(...call) },
    async handle(request, response) {
      const { stream, listening, api } = begin();
      await listening;
      if (request.url!.startsWith(`${VIDEO_PREFIX}upload/`)) await stream.upload(request, response);
      else if (!request.url!.startsWith(API)) return stream.deliver(request, response);
      // There are no tokens here: what a page of somebody else's sends is not the developer's wish.
      else if (request.headers.origin !== undefined)
        refuse(response, 403, "The API of the development server is not for pages of browsers.");
      else {
        request.url = request.url!.slice(VIDEO_PREFIX.length - 1);
        await api(request, response);
      }
      return true;
    },
  };
}

interface Begun {
  stream: Stream;
  /** What it tells of broadcasts names their ports. */
  listening: Promise<unknown>;
  api: ReturnType<typeof getRequestListener>;
}
