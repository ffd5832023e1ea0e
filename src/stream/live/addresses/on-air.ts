import type { Access, Viewer } from "../../access/index.ts";
import { createAccountHostCheck } from "../../customers/index.ts";
import { streamErrors } from "../../errors.ts";

interface OnAirAccessDeps {
  /** From `LiveAddressesModule.onAir`: never the fallback of an input that is not live. */
  access: Access;
  /**
   * Hosts `customer-<code>.<domain>` serve only the broadcasts of their account. Absent or empty: there are no such
   * hosts.
   */
  domain?: string;
}

/**
 * Authorizes viewers of the current broadcast. Its access can differ from that of recordings of the same input: a
 * public recording, or a token for one, does not open the current broadcast. `host` is that of the request. Resolves
 * with the uid of the input; rejects as Access.check does, and with liveNotPublished.
 */
export function createOnAirAccess({
  access,
  domain,
}: OnAirAccessDeps): (id: string, viewer: Viewer, host?: string) => Promise<string> {
  const ownHost = createAccountHostCheck(domain);
  return async (id, viewer, host) => {
    const { uid, account, liveInput, state } = await access.check(id, "play", viewer);
    if (!ownHost(host, account)) throw streamErrors.videoNotFound({ uid });
    if (liveInput === undefined || (uid !== liveInput && state !== "live-inprogress"))
      throw streamErrors.liveNotPublished();
    return liveInput;
  };
}
