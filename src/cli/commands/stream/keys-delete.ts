import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const streamKeysDelete = defineCommand({
  name: "stream keys delete",
  summary: "delete a signing key; its tokens stop working",
  arguments: [{ name: "id", summary: "id of the key", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost stream keys delete 91ab… --yes", "in a script"]],
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm(`Delete the signing key ${id!}? Tokens signed with it stop working.`, yes, surroundings);
    await api.result("DELETE", `${base}/stream/keys${at`/${id!}`}`);
    printResult(surroundings, { id, deleted: true }, () => [`${id!} is deleted`]);
    return 0;
  },
});
