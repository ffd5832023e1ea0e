import { connectToApi } from "../api/connect.ts";
import { collectItems, pagesOf, cursorPagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { readAttachment } from "../email/attachment.ts";
import { yesNo, neededRecordTable, type NeededDnsRecord } from "../email/routing.ts";
import {
  sendingPath,
  type ApiSendingDomain,
  findSendingDomain,
  sendingLines,
  resultLines,
  type ApiSendResult,
} from "../email/sending.ts";
import { connectZone, zoneOptions } from "../email/zone.ts";
import { commandErrors } from "../errors.ts";
import { readStdin, readTextFile } from "../input.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { limitOption, serverOptions, yesOption } from "../shared-options.ts";

const emailSendingList = defineCommand({
  name: "email sending list",
  summary: "list sending domains",
  arguments: [{ name: "domain", summary: "only domains in this zone" }],
  options: zoneOptions,
  examples: [["reelpost email sending list", "in the whole account"]],
  async run(values, [domain], context) {
    const domains = domain === undefined ? await allDomains() : await readZoneDomains(domain);
    printResult(context, domains, (paint) =>
      table(
        ["domain", "enabled", "created", "id"],
        domains.map(({ name, enabled, created, tag }) => [name, yesNo(enabled), formatUtcTime(created), tag]),
        paint,
      ),
    );
    return 0;

    async function allDomains() {
      const { api, base } = await connectToApi(values, context);
      const domains: ApiSendingDomain[] = [];
      // Subdomains are listed by zone.
      for (const { tag: zone } of await collectItems(
        pagesOf<ApiSendingDomain>(api, `${base}/email/sending/zones`, { perPage: 50 }),
      )) {
        domains.push(...(await api.result<ApiSendingDomain[]>("GET", at`/zones/${zone}/email/sending/subdomains`)));
      }
      return domains;
    }
    async function readZoneDomains(name: string) {
      const zone = await connectZone(name, values, context);
      return zone.api.result<ApiSendingDomain[]>("GET", sendingPath(zone));
    }
  },
});

const emailSendingSettings = defineCommand({
  name: "email sending settings",
  summary: "show the Email Sending settings of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending settings example.com", "includes DKIM selector and return path"]],
  async run(values, [domain], context) {
    const found = await findSendingDomain(await connectZone(domain!, values, context));
    printResult(context, found, (paint) => sendingLines(found, paint));
    return 0;
  },
});

const emailSendingEnable = defineCommand({
  name: "email sending enable",
  summary: "enable Email Sending for a domain or a subdomain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending enable example.com", "creates its records: bounces, SPF, DKIM, DMARC"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const made = await zone.api.result<ApiSendingDomain>("POST", sendingPath(zone), { json: { name: zone.domain } });
    printResult(context, made, (paint) => sendingLines(made, paint));
    return 0;
  },
});

const emailSendingDisable = defineCommand({
  name: "email sending disable",
  summary: "disable Email Sending for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: { ...yesOption, ...zoneOptions },
  examples: [["reelpost email sending disable news.example.com", "deletes the records that `enable` created"]],
  async run({ yes, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const { tag, name } = await findSendingDomain(zone);
    await confirm(`Disable Email Sending for ${name} and delete its records?`, yes, context);
    await zone.api.result("DELETE", `${sendingPath(zone)}${at`/${tag}`}`);
    printResult(context, { id: tag, deleted: true }, () => [`Email Sending is disabled for ${name}`]);
    return 0;
  },
});

const emailSendingDnsGet = defineCommand({
  name: "email sending dns get",
  summary: "show the DNS records that Email Sending needs",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending dns get example.com", "to copy to another DNS server"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const { tag } = await findSendingDomain(zone);
    const records = await zone.api.result<NeededDnsRecord[]>("GET", `${sendingPath(zone)}${at`/${tag}`}/dns`);
    printResult(context, records, (paint) => neededRecordTable(records, paint));
    return 0;
  },
});

const emailSendingSend = defineCommand({
  name: "email sending send",
  summary: "send a message",
  options: {
    from: { type: "string", placeholder: "address", summary: "sender address in a sending domain" },
    "from-name": { type: "string", placeholder: "name", summary: "display name of the sender" },
    to: { type: "string", placeholder: "address", multiple: true, summary: "recipient address" },
    cc: { type: "string", placeholder: "address", multiple: true, summary: "Cc recipient" },
    bcc: { type: "string", placeholder: "address", multiple: true, summary: "Bcc recipient" },
    "reply-to": { type: "string", placeholder: "address", summary: "Reply-To address" },
    "reply-to-name": { type: "string", placeholder: "name", summary: "display name of the Reply-To address" },
    subject: { type: "string", placeholder: "text", summary: "subject line" },
    text: { type: "string", placeholder: "text", summary: "plain-text body" },
    html: { type: "string", placeholder: "html", summary: "HTML body" },
    header: { type: "string", placeholder: "name: value", multiple: true, summary: "custom header" },
    attachment: { type: "string", placeholder: "file", multiple: true, summary: "file to attach", complete: "file" },
    ...serverOptions,
  },
  examples: [
    [
      "reelpost email sending send --from me@example.com --to you@example.net --subject Hello --text Hi",
      "prints the recipients that are delivered or queued",
    ],
  ],
  async run(values, _, context) {
    const { from, to, cc, bcc, subject, text, html } = values;
    for (const [name, value] of Object.entries({ from, to: to[0], subject })) {
      if (value === undefined)
        throw commandErrors.badContent({ what: `--${name}`, reason: "it is required", fix: `Pass --${name}.` });
    }
    const toAddress = (address: string, name: string | undefined) => (name === undefined ? address : { address, name });
    const { api, base } = await connectToApi(values, context);
    const result = await api.result<ApiSendResult>("POST", `${base}/email/sending/send`, {
      json: {
        from: toAddress(from!, values["from-name"]),
        to,
        subject,
        ...(cc.length > 0 && { cc }),
        ...(bcc.length > 0 && { bcc }),
        ...(text !== undefined && { text }),
        ...(html !== undefined && { html }),
        ...(values["reply-to"] !== undefined && { reply_to: toAddress(values["reply-to"], values["reply-to-name"]) }),
        ...(values.header.length > 0 && { headers: Object.fromEntries(values.header.map(readHeader)) }),
        ...(values.attachment.length > 0 && {
          attachments: await Promise.all(values.attachment.map((file) => readAttachment(context.cwd, file))),
        }),
      },
      timeoutMs: 180_000,
    });
    printResult(context, result, (paint) => resultLines(result, paint));
    return 0;
  },
});

function readHeader(text: string): [name: string, value: string] {
  const colon = text.indexOf(":");
  if (colon < 1)
    throw commandErrors.badContent({
      what: `--header ${text}`,
      reason: "it has no colon",
      fix: 'Write it as "X-Name: value"',
    });
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}

const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

const emailSendingSendRaw = defineCommand({
  name: "email sending send-raw",
  summary: "send a complete MIME message",
  options: {
    from: { type: "string", placeholder: "address", summary: "envelope sender, an address of a sending domain" },
    to: { type: "string", placeholder: "address", multiple: true, summary: "envelope recipient" },
    mime: { type: "string", placeholder: "text", summary: "MIME message" },
    "mime-file": {
      type: "string",
      placeholder: "file",
      summary: "file with the message, or - for standard input",
      complete: "file",
    },
    ...serverOptions,
  },
  examples: [
    [
      "reelpost email sending send-raw --from me@example.com --to you@example.net --mime-file letter.eml",
      "a file saved by a mail client",
    ],
  ],
  async run(values, _, context) {
    const { from, to, mime, "mime-file": file } = values;
    if (from === undefined || to.length === 0)
      throw commandErrors.badContent({
        what: from === undefined ? "--from" : "--to",
        reason: "it is required",
        fix: "Pass --from and --to.",
      });
    if ((mime === undefined) === (file === undefined))
      throw commandErrors.badContent({
        what: "the message",
        reason: "exactly one of --mime and --mime-file is required",
        fix: "Pass either --mime or --mime-file",
      });
    const message =
      mime ??
      (file === "-"
        ? (await readStdin(context, MAX_MESSAGE_BYTES)).toString()
        : await readTextFile(context.cwd, file!, MAX_MESSAGE_BYTES));
    const { api, base } = await connectToApi(values, context);
    const result = await api.result<ApiSendResult>("POST", `${base}/email/sending/send_raw`, {
      json: { from, recipients: to, mime_message: message },
      timeoutMs: 180_000,
    });
    printResult(context, result, (paint) => resultLines(result, paint));
    return 0;
  },
});

interface Suppression {
  id: string;
  email: string;
  reason: string;
  created_at: string;
  expires_at: string | null;
  scope?: { type: string; value?: string };
}

const emailSendingSuppressionsList = defineCommand({
  name: "email sending suppressions list",
  summary: "list suppressed addresses",
  options: {
    search: { type: "string", placeholder: "text", summary: "address, or `user@` for a user at any domain" },
    reason: {
      type: "string",
      choices: ["manual", "complaint", "hard_bounce", "soft_bounce", "policy"],
      summary: "reason for the suppression",
    },
    ...limitOption(100_000, 1000),
    ...serverOptions,
  },
  examples: [["reelpost email sending suppressions list --reason hard_bounce", "suppressed after a permanent failure"]],
  async run({ search, reason, limit = 1000, ...values }, _, context) {
    const { api, base } = await connectToApi(values, context);
    const found: Suppression[] = [];
    for await (const one of cursorPagesOf<Suppression>(api, `${base}/email/sending/suppressions`, {
      query: { search, reason },
    })) {
      if (found.push(one) === limit) break;
    }
    printResult(context, found, (paint) =>
      table(
        ["address", "reason", "created", "expires", "scope", "id"],
        found.map((one) => [
          one.email,
          one.reason,
          formatUtcTime(one.created_at),
          one.expires_at === null ? "never" : formatUtcTime(one.expires_at),
          one.scope?.value ?? "account",
          one.id,
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const emailSendingSuppressionsCreate = defineCommand({
  name: "email sending suppressions create",
  summary: "suppress an address",
  arguments: [{ name: "email", summary: "address such as ada@example.net", required: true }],
  options: {
    days: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 3650,
      summary: "duration of the suppression",
      defaultText: "permanent",
    },
    note: { type: "string", placeholder: "text", summary: "why the address is suppressed" },
    ...serverOptions,
  },
  examples: [
    [
      "reelpost email sending suppressions create nobody@example.net --note 'unsubscribe request'",
      "suppresses the address permanently",
    ],
  ],
  async run({ days, note, ...values }, [email], context) {
    const { api, base } = await connectToApi(values, context);
    const expiresAt = days === undefined ? undefined : new Date(context.clock.now() + days * 86_400_000).toISOString();
    const made = await api.result<{ id: string }>("POST", `${base}/email/sending/suppressions`, {
      json: { email, ...(expiresAt !== undefined && { expires_at: expiresAt }), ...(note !== undefined && { note }) },
    });
    printResult(context, made, () => [`${email!} is suppressed (${made.id})`]);
    return 0;
  },
});

const emailSendingSuppressionsDelete = defineCommand({
  name: "email sending suppressions delete",
  summary: "delete a suppression",
  arguments: [{ name: "id", summary: "id of the suppression", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email sending suppressions delete 91ab…", "an id from the list"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    await confirm(`Delete the suppression ${id!}?`, yes, context);
    await api.result("DELETE", `${base}/email/sending/suppressions${at`/${id!}`}`);
    printResult(context, { id, deleted: true }, () => [`Deleted ${id!}`]);
    return 0;
  },
});

export const emailSendingCommands: readonly Command[] = [
  emailSendingList,
  emailSendingSettings,
  emailSendingEnable,
  emailSendingDisable,
  emailSendingDnsGet,
  emailSendingSend,
  emailSendingSendRaw,
  emailSendingSuppressionsList,
  emailSendingSuppressionsCreate,
  emailSendingSuppressionsDelete,
];
