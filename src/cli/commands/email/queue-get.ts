import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { messageLines, type WholeMessage } from "../../email/queue.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailQueueGet = defineCommand({
  name: "email queue get",
  summary: "show a queued message and the replies of each next hop",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue get 91ab…", "an id from the list"]],
  async run(values, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const message = await api.result<WholeMessage>("GET", `${base}/email/queue${at`/${id!}`}`);
    printResult(surroundings, message, (paint) => messageLines(message, paint));
    return 0;
  },
});
