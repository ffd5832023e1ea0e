import { UserError } from "../../../kernel/index.ts";
import { workerErrors } from "../../errors.ts";
import type { WorkerRuntime } from "../port.ts";
import type { ScriptSlot } from "../slot.ts";
import { entrypointKey } from "./entrypoints.ts";

/** Maximum number of combinations of entrypoint and props for which a process listens. */
const MOST = 50;
/** Internal entrypoints that are added to each worker. */
const OWN = /^Reelpost/;

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
  const refused = new WeakMap<object, Set<string>>();

  const slotFor = (name: string) => {
    const slot = slotOf(name);
    if (slot === undefined) throw workerErrors.scriptMissing({ script: name });
    return slot;
  };

  return async (name, wanted) => {
    const found = (await slotFor(name).process()).entrypoint(wanted);
    if (found !== undefined) return found;
    const key = entrypointKey(wanted);
    await inTurn(name, async () => {
      const slot = slotFor(name);
      const { script } = slot;
      const missing = () => workerErrors.entrypointMissing({ script: script.name, entrypoint: wanted.name });
      const known = script.entrypoints ?? [];
      if (known.some((each) => entrypointKey(each) === key)) return;
      if (OWN.test(wanted.name ?? "") || refused.get(script.modules)?.has(key) === true) throw missing();
      if (known.length >= MOST) throw workerErrors.tooManyEntrypoints({ script: script.name, limit: MOST });
      try {
        await slot.swap({ ...script, entrypoints: [...known, wanted] });
      } catch (err) {
        if (!(err instanceof UserError) || !/no such named entrypoint/.test(err.message)) throw err;
        const keys = refused.get(script.modules) ?? new Set();
        if (keys.size < MOST) refused.set(script.modules, keys.add(key));
        throw missing();
      }
    });
    const added = (await slotFor(name).process()).entrypoint(wanted);
    // A deploy replaced the process meanwhile.
    if (added === undefined) throw workerErrors.closing();
    return added;
  };
}
