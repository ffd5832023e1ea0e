import { oneLine } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { dkimTable, type DkimKey } from "../email/dkim.ts";
import {
  yesNo,
  type RoutingSettings,
  routingLines,
  neededRecordTable,
  type NeededDnsRecord,
  ruleTable,
  type Rule,
  ruleLines,
  addressTable,
  type Address,
} from "../email/routing.ts";
import { buildRuleBody, ruleOptions, CATCH_ALL } from "../email/rule-body.ts";
import { fetchRule, rulePath } from "../email/rule.ts";
import { connectZone, zoneOptions, nameIn } from "../email/zone.ts";
import { commandErrors } from "../errors.ts";
import { formatTime, printResult, table, nameValueLines } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const emailRoutingList = defineCommand({
  name: "email routing list",
  summary: "list zones with their Email Routing status",
  options: serverOptions,
  examples: [["reelpost email routing list", "in the whole account"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const zones = await collectItems(pagesOf<RoutingSettings>(api, `${base}/email/routing/zones`, { perPage: 50 }));
    printResult(context, zones, (paint) =>
      table(
        ["domain", "enabled", "status", "changed", "zone"],
        zones.map((zone) => [zone.name, yesNo(zone.enabled), zone.status, formatTime(zone.modified), zone.id]),
        paint,
      ),
    );
    return 0;
  },
});

const emailRoutingSettings = defineCommand({
  name: "email routing settings",
  summary: "show the Email Routing settings of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing settings example.com", "includes the status of its DNS records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<RoutingSettings>("GET", `${zone.path}/email/routing`);
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingEnable = defineCommand({
  name: "email routing enable",
  summary: "enable Email Routing for a domain or a subdomain",
  description: "MX records of another mail service are never replaced: delete them first.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing enable example.com", "creates and locks its MX, SPF and DKIM records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<RoutingSettings>("POST", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDisable = defineCommand({
  name: "email routing disable",
  summary: "disable Email Routing for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing disable example.com", "deletes the records that `enable` created"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<RoutingSettings>("DELETE", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDnsGet = defineCommand({
  name: "email routing dns get",
  summary: "show the DNS records that Email Routing needs",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns get example.com", "to copy to another DNS server"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const { name } = nameIn(zone);
    const found = await zone.api.result<NeededDnsRecord[] | { record: NeededDnsRecord[] }>(
      "GET",
      `${zone.path}/email/routing/dns`,
      {
        query: { subdomain: name },
      },
    );
    const records = Array.isArray(found) ? found : found.record;
    printResult(context, records, (paint) => neededRecordTable(records, paint));
    return 0;
  },
});

const emailRoutingDnsUnlock = defineCommand({
  name: "email routing dns unlock",
  summary: "unlock the MX records of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dns unlock example.com", "allows changes to the records"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const settings = await zone.api.result<RoutingSettings>("PATCH", `${zone.path}/email/routing/dns`, {
      json: nameIn(zone),
    });
    printResult(context, settings, (paint) => routingLines(settings, paint));
    return 0;
  },
});

const emailRoutingDkimList = defineCommand({
  name: "email routing dkim list",
  summary: "list the DKIM keys for forwarded mail of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim list example.com", "the active key and its successor"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const keys = await zone.api.result<DkimKey[]>("GET", `${zone.path}/email/routing/dkim`, {
      query: { subdomain: nameIn(zone).name },
    });
    printResult(context, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});

const emailRoutingDkimRotate = defineCommand({
  name: "email routing dkim rotate",
  summary: "rotate the DKIM keys for forwarded mail of a domain",
  description:
    "The new keys are published immediately, and are used for signing once their records are visible everywhere. The old keys stay in DNS for mail in transit.",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing dkim rotate example.com", "without interruption"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const keys = await zone.api.result<DkimKey[]>("POST", `${zone.path}/email/routing/dkim/rotate`, {
      json: nameIn(zone),
    });
    printResult(context, keys, (paint) => dkimTable(keys, paint));
    return 0;
  },
});

const emailRoutingRulesList = defineCommand({
  name: "email routing rules list",
  summary: "list the routing rules of a domain by priority",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing rules list example.com", "the catch-all rule comes last"]],
  async run(values, [domain], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const rules = await collectItems(pagesOf<Rule>(api, `${path}/email/routing/rules`, { perPage: 50 }));
    printResult(context, rules, (paint) => ruleTable(rules, paint));
    return 0;
  },
});

const emailRoutingRulesGet = defineCommand({
  name: "email routing rules get",
  summary: "show a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: zoneOptions,
  examples: [["reelpost email routing rules get example.com catch-all", "the rule for all other addresses"]],
  async run(values, [domain, rule], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const found = await fetchRule(api, rulePath(path, rule!));
    printResult(context, found, (paint) => ruleLines(found, paint));
    return 0;
  },
});

const emailRoutingRulesCreate = defineCommand({
  name: "email routing rules create",
  summary: "create a routing rule",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: { ...ruleOptions, ...zoneOptions },
  examples: [
    [
      "reelpost email routing rules create example.com --match-value info@example.com --action-type worker --action-value inbox",
      "to a worker",
    ],
    [
      "reelpost email routing rules create example.com --match-value me@example.com --action-type forward --action-value me@example.net",
      "to a verified address",
    ],
  ],
  async run(values, [domain], context) {
    const body = buildRuleBody(values);
    const { api, path } = await connectZone(domain!, values, context);
    const rule = await api.result<Rule>("POST", `${path}/email/routing/rules`, { json: body });
    printResult(context, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});

const emailRoutingRulesUpdate = defineCommand({
  name: "email routing rules update",
  summary: "update a routing rule; omitted options keep their values",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: { ...ruleOptions, ...zoneOptions },
  examples: [
    [
      "reelpost email routing rules update example.com catch-all --action-type worker --action-value inbox --enabled true",
      "all other addresses to a worker",
    ],
  ],
  async run(values, [domain, name], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const ruleUrl = rulePath(path, name!);
    const body = buildRuleBody(values, await fetchRule(api, ruleUrl));
    const json = name === CATCH_ALL ? { ...body, matchers: [{ type: "all" }] } : body;
    await api.result("PUT", ruleUrl, { json });
    const rule = await fetchRule(api, ruleUrl);
    printResult(context, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});

const emailRoutingRulesDelete = defineCommand({
  name: "email routing rules delete",
  summary: "delete a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule", required: true },
  ],
  options: { ...yesOption, ...zoneOptions },
  examples: [
    ["reelpost email routing rules delete example.com 2f1c…", "the catch-all rule then applies to its address"],
  ],
  async run({ yes, ...values }, [domain, rule], context) {
    if (rule === CATCH_ALL)
      throw commandErrors.badContent({
        what: CATCH_ALL,
        reason: "every domain has this rule",
        fix: "Disable it: `reelpost email routing rules update <domain> catch-all --enabled false`",
      });
    const { api, path } = await connectZone(domain!, values, context);
    await confirm(`Delete the rule ${rule!} of ${domain!}?`, yes, context);
    await api.result("DELETE", rulePath(path, rule!));
    printResult(context, { id: rule, deleted: true }, () => [`Deleted ${rule!}`]);
    return 0;
  },
});

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
          ["verified", address.verified === null ? "no" : formatTime(address.verified)],
          ["created", formatTime(address.created)],
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

const emailRoutingRulesMatch = defineCommand({
  name: "email routing rules match",
  summary: "show which rule matches an address, without sending mail",
  arguments: [{ name: "address", summary: "address such as sales@example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email routing rules match sales@example.com", "the action, the rule and the reason"]],
  async run(values, [address], context) {
    const { api, path } = await connectZone(address!.slice(address!.lastIndexOf("@") + 1), values, context);
    const match = await api.result<{ action: string; value: string[]; explanation: string }>(
      "GET",
      `${path}/email/routing/match`,
      { query: { address } },
    );
    printResult(context, match, () => [
      [match.action, ...match.value].map((text) => oneLine(text)).join(" "),
      oneLine(match.explanation),
    ]);
    return 0;
  },
});

const emailRoutingRulesOrder = defineCommand({
  name: "email routing rules order",
  summary: "move the given rules to the top, in the given order",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    rule: { type: "string", placeholder: "id", multiple: true, summary: "id of a rule; the first one comes first" },
    ...zoneOptions,
  },
  examples: [["reelpost email routing rules order example.com --rule 7c1f… --rule 91ab…", "all others follow"]],
  async run({ rule, ...values }, [domain], context) {
    const { api, path } = await connectZone(domain!, values, context);
    const rules = await api.result<{ id: string; name: string; priority: number }[]>(
      "PUT",
      `${path}/email/routing/order`,
      { json: { rules: rule } },
    );
    printResult(context, rules, (paint) =>
      table(
        ["priority", "id", "name"],
        rules.map(({ priority, id, name }) => [priority, id, name]),
        paint,
      ),
    );
    return 0;
  },
});

export const emailRoutingCommands: readonly Command[] = [
  emailRoutingList,
  emailRoutingSettings,
  emailRoutingEnable,
  emailRoutingDisable,
  emailRoutingDnsGet,
  emailRoutingDnsUnlock,
  emailRoutingDkimList,
  emailRoutingDkimRotate,
  emailRoutingRulesList,
  emailRoutingRulesGet,
  emailRoutingRulesCreate,
  emailRoutingRulesUpdate,
  emailRoutingRulesDelete,
  emailRoutingRulesMatch,
  emailRoutingRulesOrder,
  emailRoutingAddressesList,
  emailRoutingAddressesGet,
  emailRoutingAddressesCreate,
  emailRoutingAddressesDelete,
];
