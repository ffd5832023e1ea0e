import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";
import { messageIn, versionsText, type Deployment } from "../../workers-api.ts";

export const deploymentsList = defineCommand({
  name: "deployments list",
  summary: "list deployments, newest first",
  options: workerOptions,
  examples: [["reelpost deployments list", "the worker of this folder"]],
  async run(values, _, surroundings) {
    const { api, script } = await connectWorker(values, surroundings);
    const { deployments } = await api.result<{ deployments: Deployment[] }>("GET", `${script}/deployments`);
    printResult(surroundings, deployments, (paint) =>
      table(
        ["since", "version", "by", "message"],
        deployments.map((deployment, i) => [
          `${moment(deployment.created_on)}${i === 0 ? "  live" : ""}`,
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
