import { confirm } from "../ask.ts";
import { at } from "../api/paths.ts";
import { oneLine } from "../../kernel/text.ts";
import { defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { formatUtcTime, printResult } from "../print.ts";
import { messageOption, workerOptions, yesOption } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";
import { messageIn, versionsText, type ApiDeployment, type VersionItem } from "../workers-api.ts";

export const rollback = defineCommand({
  name: "rollback",
  summary: "deploy an earlier version",
  description:
    "Without a version, deploys the one that was live before the current one. Data in KV, R2 and D1 does not change.",
  arguments: [{ name: "version", summary: "id of the version (default: the previous one)" }],
  options: { ...messageOption, ...yesOption, ...workerOptions },
  examples: [
    ["reelpost rollback", "the previous version, after confirmation"],
    ["reelpost rollback 3fa85f64-5717-4562-b3fc-2c963f66afa6 --yes", "a version from `versions list`"],
  ],
  async run({ message, yes, ...values }, [requestedVersion], context) {
    const { api, script, name } = await connectWorker(values, context);
    const { deployments } = await api.result<{ deployments: ApiDeployment[] }>("GET", `${script}/deployments`);
    const [liveDeployment] = deployments;
    if (liveDeployment === undefined) throw commandErrors.neverDeployed({ name });
    const id = requestedVersion ?? versionBefore(deployments);
    if (id === undefined) throw commandErrors.nothingBefore({ name });
    const version = await api.result<VersionItem>("GET", `${script}/versions${at`/${id}`}`);
    const note = messageIn(version) === "" ? "" : ` "${oneLine(messageIn(version), 80)}"`;
    await confirm(
      `Deploy version ${version.number} of ${name} (${id}, created ${formatUtcTime(version.metadata.created_on)}${note}) in place of ${versionsText(liveDeployment)}?`,
      yes,
      context,
    );
    const deployment = await api.result<{ id: string }>("POST", `${script}/deployments`, {
      json: {
        strategy: "percentage",
        versions: [{ version_id: id, percentage: 100 }],
        annotations: { "workers/message": message ?? "rollback" },
      },
    });
    printResult(
      context,
      { worker: name, version_id: id, deployment_id: deployment.id, previous: liveDeployment.versions },
      () => [`${name} now runs version ${version.number} (${id})`],
    );
    return 0;
  },
});

/** Returns the previously live version. Deployments of the current version do not count. */
function versionBefore([liveDeployment, ...earlier]: readonly ApiDeployment[]): string | undefined {
  const now = new Set(liveDeployment!.versions.map(({ version_id: id }) => id));
  const before = earlier.flatMap(({ versions }) => [...versions].sort((a, b) => b.percentage - a.percentage));
  return before.find(({ version_id: id }) => !now.has(id))?.version_id;
}
