import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import type { Address } from "../../email/routing.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailRoutingAddressesCreate = defineCommand({
  name: "email routing addresses create",
  summary: "add a destination address and send it a verification email",
  description:
    "The address receives a link and is verified when the link is opened. For a pending address, the email is sent again.",
  arguments: [{ name: "email", summary: "address such as me@example.net", required: true }],
  options: serverOptions,
  examples: [["reelpost email routing addresses create me@example.net", "sends the verification email"]],
  async run(values, [email], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const address = await api.result<Address>("POST", `${base}/email/routing/addresses`, { json: { email } });
    printResult(surroundings, address, () => [
      address.verified === null
        ? `Sent a verification email to ${address.email}. Rules can use the address once the link in it is opened.`
        : `${address.email} is already verified.`,
    ]);
    return 0;
  },
});
