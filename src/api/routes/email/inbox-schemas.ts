import { z } from "@hono/zod-openapi";
import { INBOX_KINDS, INBOX_STATUSES, type InboxMessage, type MessageContent } from "../../../mail/index.ts";

const nullable = z.string().nullable();

const deliverySchema = z.object({
  to: z.string(),
  worker: nullable,
  outcome: nullable.openapi({ description: "`ok`, or why the worker failed; null while it is running" }),
  rejected: nullable.openapi({ description: "The reason passed to setReject()" }),
  exception: nullable,
  reply: nullable.openapi({ description: "The SMTP reply, if the message was not accepted" }),
});

export const inboxMessageSchema = z
  .object({
    id: z.string(),
    kind: z.enum(INBOX_KINDS),
    status: z.enum(INBOX_STATUSES),
    created_on: z.iso.datetime(),
    from: z.string().openapi({ description: "Envelope sender; empty for bounces" }),
    to: z.array(z.string()).openapi({ description: "Envelope recipients" }),
    author: z.string().openapi({ description: "The From field" }),
    subject: z.string(),
    message_id: nullable,
    preview: z.string(),
    size: z.number().int(),
    attachment_count: z.number().int(),
    read: z.boolean(),
    worker: nullable,
    parent_id: nullable.openapi({ description: "The received message that caused this one" }),
    deliveries: z.array(deliverySchema),
    authentication: z
      .object({ spf: nullable, dkim: nullable, dmarc: nullable })
      .nullable()
      .openapi({ description: "Null if the server does not authenticate senders" }),
  })
  .openapi("InboxMessage");

export const showInboxMessage = (message: InboxMessage): z.input<typeof inboxMessageSchema> => ({
  id: message.id,
  kind: message.kind,
  status: message.status,
  created_on: message.at.toISOString(),
  from: message.from,
  to: message.to,
  author: message.author,
  subject: message.subject,
  message_id: message.messageId ?? null,
  preview: message.preview,
  size: message.size,
  attachment_count: message.attachments,
  read: message.read,
  worker: message.worker ?? null,
  parent_id: message.parent ?? null,
  deliveries: message.deliveries.map(({ to, worker, outcome, rejected, exception, reply }) => ({
    to,
    worker: worker ?? null,
    outcome: outcome ?? null,
    rejected: rejected ?? null,
    exception: exception ?? null,
    reply: reply ?? null,
  })),
  authentication:
    message.authentication === undefined
      ? null
      : {
          spf: message.authentication.spf ?? null,
          dkim: message.authentication.dkim ?? null,
          dmarc: message.authentication.dmarc ?? null,
        },
});

const addressSchema = z.object({ name: z.string(), address: z.string() });

export const inboxDetailsSchema = inboxMessageSchema
  .extend({
    content: z
      .object({
        headers: z.array(z.object({ name: z.string(), value: z.string() })),
        from: z.array(addressSchema),
        to: z.array(addressSchema),
        cc: z.array(addressSchema),
        reply_to: z.array(addressSchema),
        date: nullable,
        text: nullable,
        html: nullable.openapi({ description: "Untrusted. `/html` returns it as a self-contained page" }),
        attachments: z.array(
          z.object({
            index: z.number().int(),
            filename: nullable,
            content_type: z.string(),
            content_id: nullable,
            inline: z.boolean(),
            size: z.number().int(),
          }),
        ),
      })
      .nullable()
      .openapi({ description: "Null if the message cannot be parsed" }),
    caused: z.array(inboxMessageSchema).openapi({ description: "Forwards, replies and messages it caused" }),
  })
  .openapi("InboxMessageDetails");

export const showContent = (content: MessageContent | undefined): z.input<typeof inboxDetailsSchema>["content"] =>
  content === undefined
    ? null
    : {
        headers: content.headers,
        from: content.from,
        to: content.to,
        cc: content.cc,
        reply_to: content.replyTo,
        date: content.date ?? null,
        text: content.text ?? null,
        html: content.html ?? null,
        attachments: content.attachments.map((attachment, index) => ({
          index,
          filename: attachment.filename ?? null,
          content_type: attachment.type,
          content_id: attachment.contentId ?? null,
          inline: attachment.inline,
          size: attachment.content.length,
        })),
      };

export const linkSchema = z
  .object({
    url: z.string(),
    kind: z.enum(["link", "resource"]),
    status: z.number().int().nullable(),
    final_url: nullable.openapi({ description: "Target of redirects" }),
    error: nullable,
  })
  .openapi("InboxLink");

const addressField = z.union([z.string(), z.object({ email: z.string(), name: z.string().nullish() })]);
const addressesField = z.union([addressField, z.array(addressField)]).optional();

/** A message in the fields of the send operation, or a complete one in `raw`. */
export const composeBody = z.object({
  from: addressField.optional(),
  to: addressesField,
  cc: addressesField,
  bcc: addressesField,
  reply_to: addressField.nullish(),
  subject: z.string().optional(),
  text: z.string().nullish(),
  html: z.string().nullish(),
  headers: z.record(z.string(), z.string()).nullish(),
  attachments: z
    .array(
      z.object({
        content: z.string(),
        filename: z.string(),
        type: z.string().optional(),
        disposition: z.enum(["attachment", "inline"]).optional(),
        content_id: z.string().optional(),
      }),
    )
    .nullish(),
  raw: z.string().optional().openapi({
    description: "A complete message (RFC 5322). `from` and `to` are then the envelope, and other fields are ignored",
  }),
  worker: z.string().optional().openapi({ description: "With `raw`: the worker, instead of the one of the recipient" }),
});
