import type { Access, Viewer } from "../../access/index.ts";
import { createOwnHosts } from "../../customers/index.ts";
import { streamErrors } from "../../errors.ts";

export interface OnAirAccessParts {
  /** Of `LiveAddressesRoom.onAir`: not of what inputs lead to when nothing is on. */
  access: Access;
  /** Whose hosts `customer-<code>.<domain>` show broadcasts of their account only. Absent or empty: there are none. */
  domain?: string;
}

/**
 * Who may watch what comes from a publisher now, which is not what a recording of the same input shows: one that anybody may see, or a token for it, opens
 * no broadcast of today. `host` is that of the request. Resolves with the uid of the input; rejects as Access.check does, and liveNotPublished.
 */
export function createOnAirAccess({
  access,
  domain,
}: OnAirAccessParts): (id: string, viewer: Viewer, host?: string) => Promise<string> {
  const ownHost = createOwnHosts(domain);
  return async (id, viewer, host) => {
    const { uid, account, liveInput, state } = await access.check(id, "play", viewer);
    if (!ownHost(host, account)) throw streamErrors.videoNotFound({ uid });
    if (liveInput === undefined || (uid !== liveInput && state !== "live-inprogress"))
      throw streamErrors.liveNotPublished();
    return liveInput;
  };
}
