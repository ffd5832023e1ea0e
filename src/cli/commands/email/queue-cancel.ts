import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { messageLines, type WholeMessage } from "../../email/queue.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const emailQueueCancel = defineCommand({
  name: "email queue cancel",
  summary: "cancel a queued message for all pending recipients",
  description: "Deliveries in progress continue. The sender receives a bounce as for any undeliverable message.",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email queue cancel 91ab…", "`reelpost email queue resend` resumes it"]],
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm(`Cancel the delivery of message ${id!}?`, yes, surroundings);
    const message = await api.result<WholeMessage>("POST", `${base}/email/queue${at`/${id!}`}/cancel`);
    printResult(surroundings, message, (paint) => messageLines(message, paint));
    return 0;
  },
});
