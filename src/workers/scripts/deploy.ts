import { workerErrors } from "../errors.ts";
import { badUpload } from "./checks.ts";
import { insertDeployment, pruneDeployments, type DeploymentRecord } from "./deployments-table.ts";
import type { UploadLimits } from "./limits.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { Annotations, Author, Deployment } from "./port.ts";
import type { ScriptsTables } from "./schema.ts";
import { findScript, updateScript, type ScriptRecord, type Tables } from "./scripts-table.ts";
import { findVersions, pruneVersions } from "./versions-table.ts";

/**
 * Topic that notifies every process that runs workers. The event id is the id of a script whose deployment has changed.
 */
export const DEPLOYMENTS_TOPIC = "deployments";

interface DeployRequest {
  versions: Deployment["versions"];
  annotations?: Annotations;
}

/** Deploys existing versions. */
export async function deployVersions(
  parts: ScriptsDeps,
  account: string,
  name: string,
  { versions, annotations = {} }: DeployRequest,
  requestedBy: Author,
): Promise<DeploymentRecord> {
  const { db, clock, ids, limits, serialize, durableObjects } = parts;
  checkPercentages(versions, limits);
  return serialize(account, name, async () => {
    const id = ids.uuid();
    const { script, deployment } = await db.transaction<
      ScriptsTables,
      { script: ScriptRecord; deployment: DeploymentRecord }
    >(async (tx) => {
      const foundScript = await findScript(tx, account, name);
      if (foundScript === undefined) throw workerErrors.scriptMissing({ script: name });
      const knownVersions = await findVersions(
        tx,
        versions.map(({ versionId }) => versionId),
      );
      for (const { versionId } of versions) {
        if (knownVersions.get(versionId)?.scriptId !== foundScript.id)
          throw workerErrors.versionMissing({ version: versionId, script: name });
      }
      await durableObjects.checkDeployment(foundScript, [...knownVersions.values()]);
      const deployAnnotations = { "workers/triggered_by": "deployment", ...annotations };
      return writeDeployment(
        tx,
        foundScript,
        { id, createdAt: clock.now(), author: requestedBy, annotations: deployAnnotations, versions },
        limits,
      );
    });
    await announce(script.id, parts);
    return deployment;
  });
}

function checkPercentages(versions: Deployment["versions"], limits: UploadLimits) {
  const refuse = (reason: string) => workerErrors.badPercentages({ reason });
  if (versions.length === 0) throw refuse("no version is specified");
  if (versions.length > limits.versionsPerDeployment)
    throw badUpload(
      `the deployment has ${versions.length} versions`,
      `At most ${limits.versionsPerDeployment} can be live at the same time.`,
    );
  if (new Set(versions.map(({ versionId }) => versionId)).size < versions.length)
    throw refuse("a version is specified twice");
  const invalidVersion = versions.find(({ percentage }) => !(percentage >= 0 && percentage <= 100));
  if (invalidVersion !== undefined) throw refuse(`${invalidVersion.percentage} is not`);
  const sum = versions.reduce((total, { percentage }) => total + percentage, 0);
  // Clients write thirds with varying numbers of digits.
  if (Math.abs(sum - 100) > 0.011) throw refuse(`these add up to ${Math.round(sum * 1000) / 1000}`);
}

/** Stores a deployment. `script` is the row as read in the transaction. */
export async function writeDeployment(
  tx: Tables,
  script: ScriptRecord,
  deployment: Omit<DeploymentRecord, "account" | "scriptId" | "number">,
  limits: UploadLimits,
): Promise<{ script: ScriptRecord; deployment: DeploymentRecord }> {
  const deploymentRecord: DeploymentRecord = {
    ...deployment,
    account: script.account,
    scriptId: script.id,
    number: script.deploymentCount + 1,
  };
  const updatedScript: ScriptRecord = {
    ...script,
    modifiedAt: deploymentRecord.createdAt,
    deploymentCount: deploymentRecord.number,
    liveDeploymentId: deploymentRecord.id,
  };
  await insertDeployment(tx, deploymentRecord);
  await updateScript(tx, updatedScript);
  await pruneDeployments(tx, script.id, deploymentRecord.number - limits.keptDeployments);
  await pruneVersions(tx, script.id, updatedScript.versionCount - limits.keptVersions);
  return { script: updatedScript, deployment: deploymentRecord };
}

/** Announces a deployment after the commit. The deployment remains in effect, whatever fails here. */
export async function announce(
  scriptId: string,
  { events, live, log }: Pick<ScriptsDeps, "events" | "live" | "log">,
): Promise<void> {
  events.publish(DEPLOYMENTS_TOPIC, scriptId);
  await live
    .refresh(scriptId)
    .catch((err: unknown) =>
      log.warn({ err, scriptId }, "workers: failed to load a deployment; the next request will retry"),
    );
}
