import { confirm } from "../../ask.ts";
import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions, yesOption } from "../../shared-options.ts";

export const emailRoutingAddressesDelete = defineCommand({
  name: "email routing addresses delete",
  summary: "delete a destination address",
  arguments: [{ name: "id", summary: "id of the address", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email routing addresses delete 5f0a…", "rules that forward to it are disabled"]],
  async run({ yes, ...values }, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    await confirm(`Delete the destination address ${id!}? Rules that forward to it are disabled.`, yes, surroundings);
    await api.result("DELETE", `${base}/email/routing/addresses${at`/${id!}`}`);
    printResult(surroundings, { id, deleted: true }, () => [`${id!} is deleted`]);
    return 0;
  },
});
