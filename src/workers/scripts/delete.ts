import type { Kysely } from "kysely";
import { workerErrors } from "../errors.ts";
import { deleteDeployment, findDeployments } from "./deployments-table.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { ObjectTables } from "../objects/schema.ts";
import type { ScriptsTables } from "./schema.ts";
import { deleteScript, findScript, updateScript, type ScriptRecord } from "./scripts-table.ts";
import { announce } from "./deploy.ts";
import { deleteVersion, findVersion, listVersions } from "./versions-table.ts";

export async function removeScript(parts: ScriptsDeps, account: string, name: string): Promise<void> {
  const id = await changeScript(parts, account, name, async (tx, script) => {
    await deleteScript(tx, script.id);
    await parts.durableObjects.deleteAll(tx, script.id);
    return script.id;
  });
  await announce(id, parts);
  await parts.durableObjects.removeAll(id);
}

export function removeVersion(parts: ScriptsDeps, account: string, name: string, id: string): Promise<void> {
  return changeScript(parts, account, name, async (tx, script) => {
    const version = await findVersion(tx, id);
    if (version?.scriptId !== script.id) throw workerErrors.versionMissing({ version: id, script: name });
    const liveDeployment = (await findDeployments(tx, [script.liveDeploymentId ?? ""])).get(
      script.liveDeploymentId ?? "",
    );
    if (liveDeployment?.versions.some(({ versionId }) => versionId === id))
      throw workerErrors.versionLive({ version: id });
    await deleteVersion(tx, version);
    if (script.latestVersionId !== id) return;
    const [newestVersions] = (await listVersions(tx, script.id, { offset: 0, limit: 1 })).versions;
    await updateScript(tx, { ...script, latestVersionId: newestVersions?.id ?? null, modifiedAt: parts.clock.now() });
  });
}

export function removeDeployment(parts: ScriptsDeps, account: string, name: string, id: string): Promise<void> {
  return changeScript(parts, account, name, async (tx, script) => {
    const deployment = (await findDeployments(tx, [id])).get(id);
    if (deployment?.scriptId !== script.id) throw workerErrors.deploymentMissing({ deployment: id, script: name });
    if (script.liveDeploymentId === id) throw workerErrors.deploymentLive({ deployment: id });
    await deleteDeployment(tx, id);
  });
}

/** Runs `work` in one transaction, after pending changes to the worker. Throws scriptMissing. */
function changeScript<Result>(
  { db, serialize }: ScriptsDeps,
  account: string,
  name: string,
  work: (tx: Kysely<ScriptsTables & ObjectTables>, script: ScriptRecord) => Promise<Result>,
): Promise<Result> {
  return serialize(account, name, () =>
    db.transaction<ScriptsTables & ObjectTables, Result>(async (tx) => {
      const script = await findScript(tx, account, name);
      if (script === undefined) throw workerErrors.scriptMissing({ script: name });
      return work(tx, script);
    }),
  );
}
