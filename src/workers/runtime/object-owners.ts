import type { ScriptSlot } from "./slot.ts";

/**
 * The versions of one worker with Durable Objects have one process at a time, because the files of the objects are open
 * in it. Calls for any of these versions reach the version that claimed the objects last.
 */
export function createObjectOwners(slots: ReadonlyMap<string, ScriptSlot>) {
  /** The folder of the objects -> the name of the slot. */
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
      const current = slots.get(claims.get(owner) ?? "");
      if (current !== undefined && ownerOf(current) === owner) return current;
      claims.set(owner, name);
      return slot;
    },
    claim(name: string): void {
      const owner = ownerOf(slots.get(name));
      if (owner === undefined) return;
      for (const [other, holder] of claims) if (!slots.has(holder)) claims.delete(other);
      claims.set(owner, name);
    },
  };
}
