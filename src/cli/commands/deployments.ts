import { oneLine } from "../../kernel/text.ts";
import { at } from "../api/paths.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { formatUtcTime, printResult, table, nameValueLines } from "../print.ts";
import { workerOptions } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";
import { messageIn, versionsText, type ApiDeployment, type VersionItem } from "../workers-api.ts";

const deploymentsList = defineCommand({
  name: "deployments list",
  summary: "list deployments, newest first",
  options: workerOptions,
  examples: [["reelpost deployments list", "the worker in this folder"]],
  async run(values, _, context) {
    const { api, script } = await connectWorker(values, context);
    const { deployments } = await api.result<{ deployments: ApiDeployment[] }>("GET", `${script}/deployments`);
    printResult(context, deployments, (paint) =>
      table(
        ["since", "version", "by", "message"],
        deployments.map((deployment, i) => [
          `${formatUtcTime(deployment.created_on)}${i === 0 ? "  live" : ""}`,
          versionsText(deployment),
          deployment.author_email,
          messageIn(deployment),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const deploymentsStatus = defineCommand({
  name: "deployments status",
  summary: "show the current deployment",
  options: workerOptions,
  examples: [["reelpost deployments status --json", "JSON output, for scripts"]],
  async run(values, _, context) {
    const { api, script, name } = await connectWorker(values, context);
    const {
      deployments: [liveDeployment],
    } = await api.result<{ deployments: ApiDeployment[] }>("GET", `${script}/deployments`);
    if (liveDeployment === undefined) throw commandErrors.neverDeployed({ name });
    const versions = await Promise.all(
      liveDeployment.versions.map(({ version_id: id }) =>
        api.result<VersionItem>("GET", `${script}/versions${at`/${id}`}`),
      ),
    );
    printResult(
      context,
      { ...liveDeployment, versions: liveDeployment.versions.map((version, i) => ({ ...version, ...versions[i] })) },
      (paint) =>
        nameValueLines(
          [
            ["worker", name],
            [
              "live since",
              `${formatUtcTime(liveDeployment.created_on)}${liveDeployment.author_email === undefined ? "" : `, by ${oneLine(liveDeployment.author_email)}`}`,
            ],
            ["message", oneLine(messageIn(liveDeployment)) || undefined],
            ...versions.map((version, i): [string, string] => [
              `${liveDeployment.versions[i]!.percentage}%`,
              `${version.id}  version ${version.number}, created ${formatUtcTime(version.metadata.created_on)}  ${oneLine(messageIn(version))}`.trimEnd(),
            ]),
          ],
          paint,
        ),
    );
    return 0;
  },
});

export const deploymentsCommands: readonly Command[] = [deploymentsList, deploymentsStatus];
