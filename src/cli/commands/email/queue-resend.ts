import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { messageLines, type WholeMessage } from "../../email/queue.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailQueueResend = defineCommand({
  name: "email queue resend",
  summary: "retry immediately, including failed recipients; resumes the paused destination",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue resend 91ab…", "after a problem of the receiving server is fixed"]],
  async run(values, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const message = await api.result<WholeMessage>("POST", `${base}/email/queue${at`/${id!}`}/resend`);
    printResult(surroundings, message, (paint) => messageLines(message, paint));
    return 0;
  },
});
