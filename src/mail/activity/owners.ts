import type { Clock } from "../../kernel/index.ts";
import type { Entry } from "./types.ts";

/** Returns the owner of an address's domain. */
export type OwnerOf = (domain: string) => Promise<{ account: string; zone?: string } | undefined>;

export interface Owners {
  /**
   * Fills in a missing account and zone: those of the recipient for received mail, those of the sender for sent mail.
   * Never rejects.
   */
  complete(entries: Entry[]): Promise<void>;
}

const CACHE_TTL_MS = 10_000;
const MAX_CACHED_DOMAINS = 2000;

export function createOwners({ ownerOf, clock }: { ownerOf?: OwnerOf | undefined; clock: Pick<Clock, "now"> }): Owners {
  const ownersByDomain = new Map<string, { owner: Awaited<ReturnType<OwnerOf>>; until: number }>();

  async function find(domain: string) {
    const cachedOwner = ownersByDomain.get(domain);
    if (cachedOwner !== undefined && cachedOwner.until > clock.now()) return cachedOwner.owner;
    // If the lookup fails, the entry has no owner for now; the next step retries the lookup.
    const owner = await ownerOf!(domain).catch(() => undefined);
    ownersByDomain.delete(domain);
    if (ownersByDomain.size >= MAX_CACHED_DOMAINS) ownersByDomain.delete(ownersByDomain.keys().next().value!);
    ownersByDomain.set(domain, { owner, until: clock.now() + CACHE_TTL_MS });
    return owner;
  }

  return {
    async complete(entries) {
      if (ownerOf === undefined) return;
      for (const entry of entries) {
        if (entry.account !== "" && entry.zone !== "") continue;
        const address = entry.kind === "routing" ? entry.to : entry.from;
        const at = address.lastIndexOf("@");
        if (at === -1) continue;
        const owner = await find(address.slice(at + 1).toLowerCase());
        if (owner === undefined || (entry.account !== "" && entry.account !== owner.account)) continue;
        entry.account = owner.account;
        entry.zone ||= owner.zone ?? "";
      }
    },
  };
}
