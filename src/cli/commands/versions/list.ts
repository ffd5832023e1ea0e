import { pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";
import { messageIn, type VersionItem } from "../../workers-api.ts";

/** Maximum number of versions shown; a worker may have thousands. */
const SHOWN = 100;

export const versionsList = defineCommand({
  name: "versions list",
  summary: "list a worker's versions, newest first",
  options: workerOptions,
  examples: [["reelpost versions list", "the worker of this folder"]],
  async run(values, _, surroundings) {
    const { api, script } = await connectWorker(values, surroundings);
    const versions: VersionItem[] = [];
    for await (const version of pagesOf<VersionItem>(api, `${script}/versions`, {
      query: { deployable: true },
      pick: (result) => (result as { items: VersionItem[] }).items,
    })) {
      versions.push(version);
      if (versions.length === SHOWN) break;
    }
    printResult(surroundings, versions, (paint) =>
      table(
        ["version", "number", "created", "by", "message"],
        versions.map((version) => [
          version.id,
          version.number,
          moment(version.metadata.created_on),
          version.metadata.author_email,
          messageIn(version),
        ]),
        paint,
      ),
    );
    return 0;
  },
});
