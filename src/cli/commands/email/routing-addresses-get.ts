import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import type { Address } from "../../email/routing.ts";
import { facts, moment, printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailRoutingAddressesGet = defineCommand({
  name: "email routing addresses get",
  summary: "show a destination address",
  arguments: [{ name: "id", summary: "id of the address", required: true }],
  options: serverOptions,
  examples: [["reelpost email routing addresses get 5f0a…", "includes its verification status"]],
  async run(values, [id], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const address = await api.result<Address>("GET", `${base}/email/routing/addresses${at`/${id!}`}`);
    printResult(surroundings, address, (paint) =>
      facts(
        [
          ["id", address.id],
          ["address", address.email],
          ["verified", address.verified === null ? "no" : moment(address.verified)],
          ["created", moment(address.created)],
        ],
        paint,
      ),
    );
    return 0;
  },
});
