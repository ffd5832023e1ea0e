import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { readAttachment } from "../../email/attachment.ts";
import { resultLines, type SendResult } from "../../email/sending.ts";
import { commandErrors } from "../../errors.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailSendingSend = defineCommand({
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
  async run(values, _, surroundings) {
    const { from, to, cc, bcc, subject, text, html } = values;
    for (const [name, value] of Object.entries({ from, to: to[0], subject })) {
      if (value === undefined)
        throw commandErrors.badContent({ what: `--${name}`, reason: "it is required", fix: `Pass --${name}.` });
    }
    const named = (address: string, name: string | undefined) => (name === undefined ? address : { address, name });
    const { api, base } = await connect(values, surroundings);
    const result = await api.result<SendResult>("POST", `${base}/email/sending/send`, {
      json: {
        from: named(from!, values["from-name"]),
        to,
        subject,
        ...(cc.length > 0 && { cc }),
        ...(bcc.length > 0 && { bcc }),
        ...(text !== undefined && { text }),
        ...(html !== undefined && { html }),
        ...(values["reply-to"] !== undefined && { reply_to: named(values["reply-to"], values["reply-to-name"]) }),
        ...(values.header.length > 0 && { headers: Object.fromEntries(values.header.map(readHeader)) }),
        ...(values.attachment.length > 0 && {
          attachments: await Promise.all(values.attachment.map((file) => readAttachment(surroundings.cwd, file))),
        }),
      },
      timeoutMs: 180_000,
    });
    printResult(surroundings, result, (paint) => resultLines(result, paint));
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
