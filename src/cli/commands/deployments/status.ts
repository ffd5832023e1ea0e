import { at } from "../../api/paths.ts";
import { oneLine } from "../../../kernel/text.ts";
import { defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { facts, moment, printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";
import { messageIn, type Deployment, type VersionItem } from "../../workers-api.ts";

export const deploymentsStatus = defineCommand({
  name: "deployments status",
  summary: "show the current deployment",
  options: workerOptions,
  examples: [["reelpost deployments status --json", "for a program"]],
  async run(values, _, surroundings) {
    const { api, script, name } = await connectWorker(values, surroundings);
    const {
      deployments: [live],
    } = await api.result<{ deployments: Deployment[] }>("GET", `${script}/deployments`);
    if (live === undefined) throw commandErrors.neverDeployed({ name });
    const versions = await Promise.all(
      live.versions.map(({ version_id: id }) => api.result<VersionItem>("GET", `${script}/versions${at`/${id}`}`)),
    );
    printResult(
      surroundings,
      { ...live, versions: live.versions.map((version, i) => ({ ...version, ...versions[i] })) },
      (paint) =>
        facts(
          [
            ["worker", name],
            [
              "live since",
              `${moment(live.created_on)}${live.author_email === undefined ? "" : `, by ${oneLine(live.author_email)}`}`,
            ],
            ["message", oneLine(messageIn(live)) || undefined],
            ...versions.map((version, i): [string, string] => [
              `${live.versions[i]!.percentage}%`,
              `${version.id}  version ${version.number}, created ${moment(version.metadata.created_on)}  ${oneLine(messageIn(version))}`.trimEnd(),
            ]),
          ],
          paint,
        ),
    );
    return 0;
  },
});
