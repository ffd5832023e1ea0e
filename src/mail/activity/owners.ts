import type { Clock } from "../../kernel/index.ts";
import type { Entry } from "./types.ts";

/** Returns the owner of an address's domain. */
export type OwnerOf = (domain: string) => Promise<{ account: string; zone?: string } | undefined>;

export interface Owners {
  /**
   * Fills in a missing account and zone: by the recipient for received mail, by the sender for sent mail. Never
   * rejects.
   */
  complete(entries: Entry[]): Promise<void>;
}

const REMEMBER_MS = 10_000;
const MAX = 2000;

export function createOwners({ ownerOf, clock }: { ownerOf?: OwnerOf | undefined; clock: Pick<Clock, "now"> }): Owners {
  const known = new Map<string, { owner: Awaited<ReturnType<OwnerOf>>; until: number }>();

  async function find(domain: string) {
    const found = known.get(domain);
    if (found !== undefined && found.until > clock.now()) return found.owner;
    // If the lookup fails, the entry has no owner for now; the next step retries the lookup.
    const owner = await ownerOf!(domain).catch(() => undefined);
    known.delete(domain);
    if (known.size >= MAX) known.delete(known.keys().next().value!);
    known.set(domain, { owner, until: clock.now() + REMEMBER_MS });
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
