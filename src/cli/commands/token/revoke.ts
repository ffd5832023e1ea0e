import { confirm } from "../../ask.ts";
import { connectUser } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const tokenRevoke = defineCommand({
  name: "token revoke",
  summary: "revoke an API token permanently",
  arguments: [{ name: "id", summary: "id from `token list`", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [
    ["reelpost token revoke ed17574386854bf78a67040be0a770b0 --yes", "takes effect immediately on all processes"],
  ],
  async run({ yes, ...values }, [id], surroundings) {
    const { api } = await connectUser(values, surroundings);
    await confirm(`Revoke the API token ${id}? Requests with it are rejected immediately.`, yes, surroundings);
    await api.result("DELETE", `/user/tokens${at`/${id!}`}`);
    printResult(surroundings, { id, revoked: true }, () => [`${id} is revoked`]);
    return 0;
  },
});
