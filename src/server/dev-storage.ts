import { timingSafeEqual } from "node:crypto";
import { createLocalStorageApi, type AccessControl } from "../api/index.ts";
import type { DevStorage } from "../dev/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Bindings } from "../workers/index.ts";
import { DEV_ACCOUNT } from "./dev-account.ts";
import { announceStorage, withdrawStorage, type StorageAnnouncement } from "./storage-announcement.ts";

interface DevStorageDeps {
  bindings: Bindings;
  dataDir: string;
}

/**
 * The storage API of a development server. Its token is stored in a file in the data directory, so that web pages and
 * other users of the machine have no access. `announcementAt` returns the API's URL and token for a server URL.
 */
export function createDevStorage(
  { bindings, dataDir }: DevStorageDeps,
  basics: Basics,
): DevStorage & { announcementAt(url: string): StorageAnnouncement } {
  const token = basics.ids.token();
  let baseUrl = "";
  const handle = createLocalStorageApi(
    { bindings, accessControl: singleTokenAccess(token), url: () => baseUrl },
    basics,
  );
  const announcementAt = (url: string): StorageAnnouncement => {
    baseUrl = baseUrlOf(url);
    return { url: `${baseUrl}/client/v4`, token };
  };
  return {
    announcementAt,
    handle,
    announce: (url) => announceStorage(dataDir, announcementAt(url)),
    withdraw: () => withdrawStorage(dataDir),
  };
}

/** The base URL for clients on this machine: loopback if the server listens on all addresses. */
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
          user: { id: DEV_ACCOUNT, email: "developer@localhost" },
          accounts: [DEV_ACCOUNT],
          allows: () => true,
        }
      : undefined,
  accountExists: async (id) => id === DEV_ACCOUNT,
  zoneAccount: async () => undefined,
});

const equalSecrets = (given: string, expected: string) =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
