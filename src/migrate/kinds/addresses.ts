import { plannedItem, type Context } from "../context.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, collect, readNumberedPages } from "../requests.ts";

interface Address {
  id: string;
  email: string;
  verified?: string | null;
}

export const addressesOf = async (api: Context["source"]["api"], base: string): Promise<Address[]> => {
  const path = `${base}/email/routing/addresses`;
  const list = (query: Record<string, string>) => collect(readNumberedPages<Address>(api, path, { query }));
  // The hosted API lists only verified addresses by default.
  const all = [...(await list({ verified: "true" })), ...(await list({ verified: "false" }))];
  return [...new Map(all.map((address) => [address.id, address])).values()];
};

/** Plans the import of the destination addresses of Email Routing. */
export async function planAddresses(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, options } = context;
  const [ours, theirs] = await Promise.all([
    addressesOf(source.api, paths.source),
    addressesOf(target.api, paths.target),
  ]);
  const existing = new Map(theirs.map((address) => [address.email.toLowerCase(), address]));
  return ours.map((address) => {
    const found = existing.get(address.email.toLowerCase());
    const isVerified = options.keepVerified && address.verified != null;
    return plannedItem(context, {
      kind: "destination address",
      key: `address ${address.email.toLowerCase()}`,
      name: address.email,
      ...(address.verified != null &&
        found?.verified == null &&
        !isVerified && { losses: ["it must be verified again: it receives a message with a link"] }),
      source: { verified: isVerified },
      // An address that is verified on the target matches in both cases.
      target: found && { verified: isVerified ? found.verified != null : false },
      async apply() {
        const path = `${paths.target}/email/routing/addresses`;
        const status = isVerified ? { status: "verified" } : {};
        if (found === undefined) await target.api.result("POST", path, { json: { email: address.email, ...status } });
        else if (isVerified) await target.api.result("PATCH", path + apiPath`/${found.id}`, { json: status });
      },
    });
  });
}
