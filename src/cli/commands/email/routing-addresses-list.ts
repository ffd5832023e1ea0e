import { connect } from "../../api/connect.ts";
import { collect, pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { addressTable, type Address } from "../../email/routing.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailRoutingAddressesList = defineCommand({
  name: "email routing addresses list",
  summary: "list destination addresses",
  options: serverOptions,
  examples: [["reelpost email routing addresses list", "including unverified ones"]],
  async run(values, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const path = `${base}/email/routing/addresses`;
    // The API shows verified addresses unless it is asked for the others.
    const lists = await Promise.all(
      [true, false].map((verified) => collect(pagesOf<Address>(api, path, { query: { verified }, perPage: 50 }))),
    );
    const addresses = lists.flat().sort((a, b) => a.created.localeCompare(b.created));
    printResult(surroundings, addresses, (paint) => addressTable(addresses, paint));
    return 0;
  },
});
