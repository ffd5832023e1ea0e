import { timingSafeEqual } from "node:crypto";
import { loadLocalApi, type AccessControl, type DevApiModules } from "../api/index.ts";
import type { Dev, DevVideo } from "../dev/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Bindings } from "../workers/index.ts";
import { DEV_ACCOUNT, DEV_USER } from "./dev-account.ts";
import { announceStorage, withdrawStorage, type StorageAnnouncement } from "./storage-announcement.ts";

interface DevApiDeps {
  bindings: Pick<Bindings, "kv" | "r2" | "d1">;
  dataDir: string;
  /** If absent, the API has only the operations on storage. */
  dev?: DevApiModules & { video: Pick<DevVideo, "api"> };
}

/** Operations on videos and live inputs, which open video on first use. */
const VIDEO_OPERATION = /^\/client\/v4\/accounts\/[^/?]+\/(?:stream|media)(?:[/?]|$)/;

/**
 * Creates the API of a development server, or of its storage. Its token is stored in a file in the data directory, so
 * that web pages and other users of the machine have no access. `announcementAt` returns the API's URL and token for a
 * server URL.
 */
export async function createDevApi(
  { bindings, dataDir, dev }: DevApiDeps,
  basics: Basics,
): Promise<Dev["api"] & { announcementAt(url: string): StorageAnnouncement }> {
  const token = basics.ids.token();
  let baseUrl = "";
  const { createLocalApi } = await loadLocalApi();
  const api = createLocalApi({ bindings, dev, accessControl: singleTokenAccess(token), url: () => baseUrl }, basics);
  const announcementAt = (url: string): StorageAnnouncement => {
    baseUrl = baseUrlOf(url);
    return { url: `${baseUrl}/client/v4`, token };
  };
  return {
    announcementAt,
    handle: api.handle,
    async handleLocal(request, response) {
      // Development has no tokens, but clients of the hosted service always send one.
      request.headers.authorization = `Bearer ${token}`;
      if (dev !== undefined && VIDEO_OPERATION.test(request.url!)) await dev.video.api(request, response);
      else await api.handle(request, response);
    },
    upgrade: api.upgrade,
    announce: (url) => announceStorage(dataDir, announcementAt(url)),
    withdraw: () => withdrawStorage(dataDir),
  };
}

/** Returns the base URL for clients on this machine: loopback if the server listens on all addresses. */
function baseUrlOf(server: string): string {
  const url = new URL(server);
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.href.replace(/\/$/, "");
}

const singleTokenAccess = (token: string): AccessControl => ({
  authenticate: async ({ secret }) =>
    equalSecrets(secret, token)
      ? {
          tokenId: DEV_ACCOUNT,
          user: DEV_USER,
          accounts: [DEV_ACCOUNT],
          allows: () => true,
        }
      : undefined,
  accountExists: async (id) => id === DEV_ACCOUNT,
  zoneAccount: async () => undefined,
});

const equalSecrets = (given: string, expected: string) =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
