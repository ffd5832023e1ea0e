import type { Kysely } from "kysely";
import { workerErrors } from "../errors.ts";
import { checkScriptName } from "./checks.ts";
import { announce } from "./deploy.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { ScriptSettings } from "./port.ts";
import type { ScriptRename } from "./references.ts";
import { renameInBindings, renameInTailConsumers } from "./references-table.ts";
import type { ScriptsTables } from "./schema.ts";
import { findScript, updateScript, type ScriptRecord } from "./scripts-table.ts";
import { checkTailConsumers } from "./tail-consumers.ts";

interface Renamed {
  script: ScriptRecord;
  /** Ids of the workers whose live versions call the renamed one. */
  callers: string[];
  announcements: (() => void | Promise<void>)[];
}

/**
 * Renames a worker and all references to it in one transaction. The processes of the worker and of its callers contain
 * the name, so they are replaced as by a deploy: running requests finish in the old ones.
 */
export async function renameScript(
  parts: ScriptsDeps,
  change: ScriptRename,
  settings: Partial<ScriptSettings>,
): Promise<ScriptRecord> {
  const { account, from, to } = change;
  const { db, serialize, log } = parts;
  checkScriptName(to);
  if (to === from) throw workerErrors.nameTaken({ name: to });
  // In a fixed order, so that two renames cannot wait for each other.
  const [first, second] = [from, to].toSorted() as [string, string];
  return serialize(account, first, () =>
    serialize(account, second, async () => {
      const { script, callers, announcements } = await db.transaction<ScriptsTables, Renamed>((tx) =>
        renameIn(tx, parts, change, settings),
      );
      // All announcements start immediately, because rules and routes may be cached with the former name.
      const announced = await Promise.allSettled(announcements.map(async (announceChange) => announceChange()));
      for (const { reason: err } of announced.filter(({ status }) => status === "rejected") as PromiseRejectedResult[])
        log.warn({ err, script: to }, "workers: failed to announce a rename, will retry");
      for (const id of [script.id, ...callers]) await announce(id, parts);
      return script;
    }),
  );
}

async function renameIn(
  tx: Kysely<ScriptsTables>,
  { clock, references }: ScriptsDeps,
  change: ScriptRename,
  settings: Partial<ScriptSettings>,
): Promise<Renamed> {
  const { account, from, to } = change;
  const found = await findScript(tx, account, from);
  if (found === undefined) throw workerErrors.scriptMissing({ script: from });
  if ((await findScript(tx, account, to)) !== undefined) throw workerErrors.nameTaken({ name: to });
  await checkTailConsumers(tx, { account, name: from }, settings.tailConsumers);
  const now = clock.now();
  await updateScript(tx, {
    ...found,
    ...settings,
    name: to,
    formerName: from,
    renamedAt: now,
    modifiedAt: now,
    revision: found.revision + 1,
  });
  const callers = (await renameInBindings(tx, change)).filter((id) => id !== found.id);
  await renameInTailConsumers(tx, change);
  const announcements: Renamed["announcements"] = [];
  for (const each of references) announcements.push(await each.rename(tx as unknown as Kysely<unknown>, change));
  return { script: (await findScript(tx, account, to))!, callers, announcements };
}
