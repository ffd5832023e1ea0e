import { workerErrors } from "../errors.ts";
import type { UploadLimits } from "./limits.ts";
import type { ScriptSettings } from "./port.ts";
import { countScripts, insertScript, type ScriptRecord, type Tables } from "./scripts-table.ts";

/** A worker is not reachable over HTTP until its owner enables that. */
const DEFAULT_SETTINGS: ScriptSettings = {
  subdomainEnabled: false,
  previewsEnabled: false,
  tags: [],
  logpush: false,
  observability: null,
  tailConsumers: [],
  usageModel: "standard",
  placement: null,
};

/** Adds a worker without a version. Throws tooManyScripts. */
export async function addScript(
  tx: Tables,
  id: string,
  { account, name, now, limits }: { account: string; name: string; now: number; limits: UploadLimits },
): Promise<ScriptRecord> {
  if ((await countScripts(tx, account)) >= limits.scriptsPerAccount)
    throw workerErrors.tooManyScripts({ limit: limits.scriptsPerAccount });
  const script: ScriptRecord = {
    id,
    account,
    name,
    createdAt: now,
    modifiedAt: now,
    ...DEFAULT_SETTINGS,
    versionCount: 0,
    deploymentCount: 0,
    latestVersionId: null,
    liveDeploymentId: null,
    revision: 0,
    formerName: null,
    renamedAt: null,
  };
  await insertScript(tx, script);
  return script;
}
