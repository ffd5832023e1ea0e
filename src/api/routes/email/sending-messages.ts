import { readDraft, REST_FIELDS, sendTextMessage, type Sending, type Spool } from "../../../mail/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { sendErrors, toSendError } from "./sending-errors.ts";
import { limitsSchema, sendBody, sendRawBody, sentSchema, showLimits, showSent } from "./sending-schemas.ts";

export interface SendingMessagesDeps {
  sending: Sending;
  spool: Pick<Spool, "collect">;
}

const tag = "Email Sending";
const BASE = "/accounts/{account_id}/email/sending";
/**
 * 25 MiB of base64 attachments, or of a message with escaped line breaks, plus overhead; the domain enforces the exact
 * limits.
 */
const MAX_BYTES = 36 * 1024 * 1024;
const sendFields = {
  permission: "Email Sending Write",
  maxBytes: MAX_BYTES,
  translate: toSendError,
  result: sentSchema,
} as const;

/** Sending email through the REST API. */
export const sendingMessagesRoutes = ({ sending, spool }: SendingMessagesDeps): Route[] => [
  route(
    {
      id: "email-sending-account-send-builder",
      method: "post",
      path: `${BASE}/send`,
      tag,
      summary: "Send an email composed from its fields",
      audit: false,
      body: sendBody,
      ...sendFields,
    },
    async ({ params, body }) => {
      const { reply_to: replyTo, attachments, text, html, ...rest } = body;
      // An empty part counts as absent.
      const draft = readDraft(
        {
          ...rest,
          replyTo,
          text: text || undefined,
          html: html || undefined,
          attachments: attachments?.map(({ content_id: contentId, ...file }) => ({ ...file, contentId })),
        },
        REST_FIELDS,
      );
      return respond(
        showSent(
          await sending.send({ account: params.account_id!, via: "rest", from: draft.from.address, to: [], draft }),
        ),
      );
    },
  ),
  route(
    {
      id: "email-sending-account-send-raw-message",
      method: "post",
      path: `${BASE}/send_raw`,
      tag,
      summary: "Send a raw MIME message (RFC 5322)",
      audit: false,
      body: sendRawBody,
      ...sendFields,
    },
    async ({ params, body }) => {
      if (body.mime_message === "")
        throw sendErrors.noContentLength({
          chain: [{ code: sendErrors.table.noContentLength.code, message: "mime_message is empty" }],
        });
      return respond(
        showSent(
          await sendTextMessage(
            { sending, spool },
            { account: params.account_id!, from: body.from, to: body.recipients, text: body.mime_message },
          ),
        ),
      );
    },
  ),
  route(
    {
      id: "email-sending-get-sending-limits",
      method: "get",
      path: `${BASE}/limits`,
      tag,
      summary: "Get the daily sending limit and usage of the account",
      permission: "Email Sending Read",
      result: limitsSchema,
    },
    async ({ params }) => respond(showLimits(await sending.limits(params.account_id!))),
  ),
];
