import { UserError } from "../../../kernel/index.ts";
import { workerErrors } from "../../errors.ts";
import type { WorkerRuntime } from "../port.ts";
import type { ScriptSlot } from "../slot.ts";
import { entrypointKey } from "./entrypoints.ts";

/** Maximum number of combinations of entrypoint and props for which a process listens. */
const MAX_ENTRYPOINTS = 50;
/** Internal entrypoints that are added to each worker. */
const INTERNAL_ENTRYPOINT = /^Reelpost/;

/**
 * Finds entrypoints of running workers. workerd needs a socket for each entrypoint and exits if an entrypoint does not
 * exist, and a worker's exports are unknown before it runs. So a process listens only for its default export, and is
 * replaced when another entrypoint is first called.
 */
export function createEntrypointLookup({
  slotOf,
  inTurn,
}: {
  slotOf(name: string): ScriptSlot | undefined;
  /** Runs `work` after pending deploys of the same name. */
  inTurn(name: string, work: () => Promise<void>): Promise<void>;
}): WorkerRuntime["entrypoint"] {
  /** Keys of entrypoints known not to exist, by version. */
  const missingKeys = new WeakMap<object, Set<string>>();

  const slotFor = (name: string) => {
    const slot = slotOf(name);
    if (slot === undefined) throw workerErrors.scriptMissing({ script: name });
    return slot;
  };

  return async (name, entrypoint) => {
    const foundEntrypoint = (await slotFor(name).process()).entrypoint(entrypoint);
    if (foundEntrypoint !== undefined) return foundEntrypoint;
    const key = entrypointKey(entrypoint);
    await inTurn(name, async () => {
      const slot = slotFor(name);
      const { script } = slot;
      const missingError = () => workerErrors.entrypointMissing({ script: script.name, entrypoint: entrypoint.name });
      const knownEntrypoints = script.entrypoints ?? [];
      if (knownEntrypoints.some((candidate) => entrypointKey(candidate) === key)) return;
      if (INTERNAL_ENTRYPOINT.test(entrypoint.name ?? "") || missingKeys.get(script.modules)?.has(key) === true)
        throw missingError();
      if (knownEntrypoints.length >= MAX_ENTRYPOINTS)
        throw workerErrors.tooManyEntrypoints({ script: script.name, limit: MAX_ENTRYPOINTS });
      try {
        await slot.swap({ ...script, entrypoints: [...knownEntrypoints, entrypoint] });
      } catch (err) {
        if (!(err instanceof UserError) || !/no such named entrypoint/.test(err.message)) throw err;
        const keys = missingKeys.get(script.modules) ?? new Set();
        if (keys.size < MAX_ENTRYPOINTS) missingKeys.set(script.modules, keys.add(key));
        throw missingError();
      }
    });
    const addedEntrypoint = (await slotFor(name).process()).entrypoint(entrypoint);
    // A deploy has replaced the process in the meantime.
    if (addedEntrypoint === undefined) throw workerErrors.closing();
    return addedEntrypoint;
  };
}
