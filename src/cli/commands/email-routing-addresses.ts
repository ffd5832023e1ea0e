import { connectToApi } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { addressTable, type Address } from "../email/routing.ts";
import { formatUtcTime, printResult, nameValueLines } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const emailRoutingAddressesList = defineCommand({
  name: "email routing addresses list",
  summary: "list destination addresses",
  options: serverOptions,
  examples: [["reelpost email routing addresses list", "including unverified ones"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const path = `${base}/email/routing/addresses`;
    // By default the API lists only verified addresses.
    const lists = await Promise.all(
      [true, false].map((verified) => collectItems(pagesOf<Address>(api, path, { query: { verified }, perPage: 50 }))),
    );
    const addresses = lists.flat().sort((a, b) => a.created.localeCompare(b.created));
    printResult(context, addresses, (paint) => addressTable(addresses, paint));
    return 0;
  },
});

const emailRoutingAddressesGet = defineCommand({
  name: "email routing addresses get",
  summary: "show a destination address",
  arguments: [{ name: "id", summary: "id of the address", required: true }],
  options: serverOptions,
  examples: [["reelpost email routing addresses get 5f0a…", "includes its verification status"]],
  async run(values, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const address = await api.result<Address>("GET", `${base}/email/routing/addresses${at`/${id!}`}`);
    printResult(context, address, (paint) =>
      nameValueLines(
        [
          ["id", address.id],
          ["address", address.email],
          ["verified", address.verified === null ? "no" : formatUtcTime(address.verified)],
          ["created", formatUtcTime(address.created)],
        ],
        paint,
      ),
    );
    return 0;
  },
});

const emailRoutingAddressesCreate = defineCommand({
  name: "email routing addresses create",
  summary: "add a destination address and send it a verification email",
  description:
    "The address receives a link and is verified when the link is opened. For a pending address, the email is sent again.",
  arguments: [{ name: "email", summary: "address such as me@example.net", required: true }],
  options: serverOptions,
  examples: [["reelpost email routing addresses create me@example.net", "sends the verification email"]],
  async run(values, [email], context) {
    const { api, base } = await connectToApi(values, context);
    const address = await api.result<Address>("POST", `${base}/email/routing/addresses`, { json: { email } });
    printResult(context, address, () => [
      address.verified === null
        ? `Sent a verification email to ${address.email}. Rules can use the address once the link in it is opened.`
        : `${address.email} is already verified.`,
    ]);
    return 0;
  },
});

const emailRoutingAddressesDelete = defineCommand({
  name: "email routing addresses delete",
  summary: "delete a destination address",
  arguments: [{ name: "id", summary: "id of the address", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email routing addresses delete 5f0a…", "rules that forward to it are disabled"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    await confirm(`Delete the destination address ${id!}? Rules that forward to it are disabled.`, yes, context);
    await api.result("DELETE", `${base}/email/routing/addresses${at`/${id!}`}`);
    printResult(context, { id, deleted: true }, () => [`Deleted ${id!}`]);
    return 0;
  },
});

export const emailRoutingAddressCommands: readonly Command[] = [
  emailRoutingAddressesList,
  emailRoutingAddressesGet,
  emailRoutingAddressesCreate,
  emailRoutingAddressesDelete,
];
