import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { bindingTable } from "../../deploy/bindings.ts";
import { oneLine } from "../../../kernel/text.ts";
import { facts, moment, printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";
import { messageIn, type VersionDetails } from "../../workers-api.ts";

export const versionsView = defineCommand({
  name: "versions view",
  summary: "show a version: author and bindings",
  arguments: [{ name: "version", summary: "id of the version", required: true }],
  options: workerOptions,
  examples: [["reelpost versions view 3fa85f64-5717-4562-b3fc-2c963f66afa6", "an id from `versions list`"]],
  async run(values, [id], surroundings) {
    const { api, script } = await connectWorker(values, surroundings);
    const version = await api.result<VersionDetails>("GET", `${script}/versions${at`/${id!}`}`);
    const { metadata, resources } = version;
    printResult(surroundings, version, (paint) => [
      ...facts(
        [
          ["version", version.id],
          ["number", String(version.number)],
          ["created", `${moment(metadata.created_on)} by ${oneLine(metadata.author_email ?? "")}`],
          ["message", oneLine(messageIn(version)) || undefined],
          ["handlers", resources.script?.handlers?.join(", ")],
          [
            "compatible with",
            [resources.script_runtime?.compatibility_date, ...(resources.script_runtime?.compatibility_flags ?? [])]
              .filter((part) => part !== undefined)
              .join(" ") || undefined,
          ],
        ],
        paint,
      ),
      ...bindingTable(resources.bindings ?? [], paint),
    ]);
    return 0;
  },
});
