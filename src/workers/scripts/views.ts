import { withoutSecrets } from "./bindings.ts";
import { findDeployments, type DeploymentRecord } from "./deployments-table.ts";
import type { Deployment, Script, Version } from "./port.ts";
import { settingsOf, type ScriptRecord, type Tables } from "./scripts-table.ts";
import { findVersions, type VersionRecord } from "./versions-table.ts";

/** Scripts for callers, each with its newest version and its live deployment. */
export async function scriptsOf(tables: Tables, records: ScriptRecord[]): Promise<Script[]> {
  const versions = await findVersions(
    tables,
    records.flatMap(({ latestVersionId }) => latestVersionId ?? []),
  );
  const deployments = await findDeployments(
    tables,
    records.flatMap(({ liveDeploymentId }) => liveDeploymentId ?? []),
  );
  return records.map((record) =>
    scriptOf(record, versions.get(record.latestVersionId ?? ""), deployments.get(record.liveDeploymentId ?? "")),
  );
}

export const scriptOf = (
  record: ScriptRecord,
  latestVersion: VersionRecord | undefined,
  liveDeployment: DeploymentRecord | undefined,
): Script => ({
  ...settingsOf(record),
  id: record.id,
  account: record.account,
  name: record.name,
  createdAt: new Date(record.createdAt),
  modifiedAt: new Date(record.modifiedAt),
  ...(latestVersion !== undefined && { latest: versionOf(latestVersion, record.name) }),
  ...(liveDeployment !== undefined && { live: deploymentOf(liveDeployment) }),
});

export const versionOf = (record: VersionRecord, script: string): Version => ({
  ...record,
  script,
  createdAt: new Date(record.createdAt),
  bindings: withoutSecrets(record.bindings),
});

export const deploymentOf = ({ account: _account, number: _number, ...record }: DeploymentRecord): Deployment => ({
  ...record,
  createdAt: new Date(record.createdAt),
});
