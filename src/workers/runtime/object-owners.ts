import type { ScriptSlot } from "./slot.ts";

/**
 * Only one version of a worker with Durable Objects has a process at a time, because the process has the files of the
 * objects open. Calls to any version of the worker go to the version that claimed the objects last.
 */
export function createObjectOwners(slots: ReadonlyMap<string, ScriptSlot>) {
  /** Slot names by the owner of the objects. */
  const claims = new Map<string, string>();
  const ownerOf = (slot: ScriptSlot | undefined) => {
    const objects = slot?.script.objects;
    return objects === undefined || objects.isTrial ? undefined : objects.owner;
  };

  return {
    slotOf(name: string): ScriptSlot | undefined {
      const slot = slots.get(name);
      const owner = ownerOf(slot);
      if (owner === undefined) return slot;
      const claimingSlot = slots.get(claims.get(owner) ?? "");
      if (claimingSlot !== undefined && ownerOf(claimingSlot) === owner) return claimingSlot;
      claims.set(owner, name);
      return slot;
    },
    claim(name: string): void {
      const owner = ownerOf(slots.get(name));
      if (owner === undefined) return;
      for (const [claimedOwner, slotName] of claims) if (!slots.has(slotName)) claims.delete(claimedOwner);
      claims.set(owner, name);
    },
  };
}
