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
 * The storage API of a development server. Its token is in a file in the data directory, so that web pages and other
 * users of the machine have no access. `at` returns how to reach it below this URL.
 */
export function createDevStorage(
  { bindings, dataDir }: DevStorageDeps,
  basics: Basics,
): DevStorage & { at(url: string): StorageAnnouncement } {
  const token = basics.ids.token();
  let base = "";
  const api = createLocalStorageApi({ bindings, accessControl: onlyWith(token), url: () => base }, basics);
  const at = (url: string): StorageAnnouncement => {
    base = baseOf(url);
    return { url: `${base}/client/v4`, token };
  };
  return {
    at,
    handle: api,
    announce: (url) => announceStorage(dataDir, at(url)),
    withdraw: () => withdrawStorage(dataDir),
  };
}

/** A server that listens on every address is reached over the loopback interface. */
function baseOf(server: string): string {
  const url = new URL(server);
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.href.replace(/\/$/, "");
}

const onlyWith = (token: string): AccessControl => ({
  authenticate: async ({ secret }) =>
    equal(secret, token)
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

const equal = (given: string, expected: string) =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
