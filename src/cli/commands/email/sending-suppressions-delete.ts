import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const emailSendingSuppressionsDelete = defineCommand({
  name: "email sending suppressions delete",
  summary: "delete a suppression",
  arguments: [{ name: "id", summary: "id of the suppression", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email sending suppressions delete 91ab…", "an id from the list"]],
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm(`Delete the suppression ${id!}?`, yes, surroundings);
    await api.result("DELETE", `${base}/email/sending/suppressions${at`/${id!}`}`);
    printResult(surroundings, { id, deleted: true }, () => [`${id!} is deleted`]);
    return 0;
  },
});
