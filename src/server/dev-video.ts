import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { loadVideoApi, type AccessControl } from "../api/index.ts";
import { sendTextError, VIDEO_PREFIX, type DevVideo } from "../dev/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { openSecrets, type Store } from "../store/index.ts";
import { createStream, type Stream } from "../stream/index.ts";
import { DEV_ACCOUNT as ACCOUNT, DEV_USER } from "./dev-account.ts";
import { ROLES } from "./roles.ts";

interface DevVideoDeps {
  store: Store;
  dataDir: string;
  settings: Settings;
  /** Returns the URL of the development server. */
  serverUrl: () => string;
}

const API_PATH = `${VIDEO_PREFIX}client/v4/`;
/** Every caller is the developer, regardless of the token. */
const OPEN_ACCESS: AccessControl = {
  authenticate: async () => ({
    tokenId: ACCOUNT,
    user: DEV_USER,
    accounts: [ACCOUNT],
    allows: () => true,
  }),
  accountExists: async (id) => id === ACCOUNT,
  zoneAccount: async () => undefined,
};

/**
 * Stream for local workers: videos, their player, uploads, and the video operations of the v4 API. Opened by the first
 * call of a stream binding or the first video request: most workers do not use video, and ffmpeg is not needed until
 * then. Uploads from this machine and fetches from it are allowed.
 */
export function createDevVideo(deps: DevVideoDeps, basics: Basics): DevVideo {
  let openedVideo: OpenVideo | undefined;
  const openOnce = () => (openedVideo ??= openVideo(deps, basics));
  return {
    binding: { call: (...call) => openOnce().stream.binding.call(...call) },
    async api(request, response) {
      const { listening, api } = openOnce();
      await listening;
      await (
        await api
      )(request, response);
    },
    async handle(request, response) {
      const { stream, listening, api } = openOnce();
      await listening;
      if (request.url!.startsWith(`${VIDEO_PREFIX}upload/`)) await stream.upload(request, response);
      else if (!request.url!.startsWith(API_PATH)) return stream.deliver(request, response);
      // There are no tokens in development, so a page of another site must be rejected.
      else if (request.headers.origin !== undefined)
        sendTextError(response, 403, "The API of the development server rejects requests from browser pages.");
      else {
        request.url = request.url!.slice(VIDEO_PREFIX.length - 1);
        await (
          await api
        )(request, response);
      }
      return true;
    },
  };
}

interface OpenVideo {
  stream: Stream;
  /** The live inputs display these ports. */
  listening: Promise<unknown>;
  api: Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>>;
}

function openVideo({ store, dataDir, settings, serverUrl }: DevVideoDeps, basics: Basics): OpenVideo {
  const stream = createStream(
    {
      store,
      serverUrl,
      secrets: openSecrets(dataDir),
      settings: { ...settings, stream: { ...settings.stream, allow_private: true } },
      roles: new Set(ROLES),
      base: VIDEO_PREFIX.slice(0, -1),
      folder: join(dataDir, "video"),
      defaultAccount: ACCOUNT,
    },
    basics,
  );
  // Another process may be using the ports; everything else works without them.
  const listening = stream
    .listen()
    .catch((err: unknown) => basics.log.warn({ err }, "live: failed to listen for RTMP and SRT publishers"));
  stream.start();
  const api = loadVideoApi().then(({ createVideoApi }) => createVideoApi(stream, OPEN_ACCESS, basics));
  return { stream, listening, api };
}
