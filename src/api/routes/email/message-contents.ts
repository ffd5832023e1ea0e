import { z } from "@hono/zod-openapi";
import type { Caller } from "../../../accounts/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import { activityErrors, readMessageContent, type Entry, type MessageContents } from "../../../mail/index.ts";
import { apiErrors } from "../../errors.ts";
import { respond, route, type Route } from "../../operation.ts";

export interface MessageContentsDeps {
  contents: MessageContents;
  /** Resolves with the entry, if the caller may read it. Throws noEntry, notAllowed. */
  findEntry(caller: Caller, account: string, id: string): Promise<Entry>;
  workerExists(account: string, name: string): Promise<boolean>;
}

const tag = "Email log";
const ENTRY_PATH = "/accounts/{account_id}/email/activity/{entry_id}";
const text = z.string().nullable();

const contentSchema = z.object({
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  text,
  html: text,
  attachments: z.array(
    z.object({
      index: z.number().int(),
      filename: text,
      type: z.string(),
      disposition: z.enum(["attachment", "inline"]).nullable(),
      content_id: text,
      size: z.number().int(),
    }),
  ),
});
const replaySchema = z.object({
  session_message_id: z.string(),
  outcome: z.string(),
  exception: text,
  rejected: text,
  forwards: z.array(z.object({ to: z.string(), message_id: z.string() })),
  replies: z.array(z.object({ from: z.string(), message_id: z.string() })),
});

/** Returns a response that a browser only downloads, for content that comes from any client. */
const download = (content: Uint8Array, type: string, filename: string): Response =>
  new Response(new Uint8Array(content), {
    headers: {
      "content-type": type,
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(filename)}`,
      "cache-control": "no-store",
    },
  });

/** Contents of the messages in the log that are still stored. */
export function messageContentsRoutes({ contents, findEntry, workerExists }: MessageContentsDeps): Route[] {
  async function rawOf(caller: Caller, { account_id, entry_id }: Record<string, string>): Promise<Buffer> {
    const entry = await findEntry(caller, account_id!, entry_id!);
    // Addresses and results may be read for analytics; contents may not.
    const permission = entry.kind === "routing" ? "Email Routing Rules Read" : "Email Sending Read";
    const { account, zone } = entry;
    if (!caller.allows(permission, zone === "" ? { account: account_id! } : { account: account_id!, zone }))
      throw apiErrors.notAllowed({ permission: JSON.stringify(permission) });
    const stored = account === account_id ? await contents.open(entry) : undefined;
    if (stored === undefined) throw activityErrors.notStored();
    return stored.bytes();
  }
  const readable = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((err: unknown) => {
      throw activityErrors.unreadable({ reason: messageOf(err) }, { cause: err });
    });

  return [
    route(
      {
        id: "email-log-get-raw-message",
        method: "get",
        path: `${ENTRY_PATH}/raw`,
        tag,
        summary: "Get the raw content of a message in the log",
        permission: null,
        raw: "message/rfc822",
      },
      async ({ params, caller }) => download(await rawOf(caller, params), "message/rfc822", "message.eml"),
    ),
    route(
      {
        id: "email-log-get-message-content",
        method: "get",
        path: `${ENTRY_PATH}/content`,
        tag,
        summary: "Get headers, text, HTML and the list of attachments of a message in the log",
        permission: null,
        result: contentSchema,
      },
      async ({ params, caller }) => {
        const {
          headers,
          text: plain,
          html,
          attachments,
        } = await readable(readMessageContent(await rawOf(caller, params)));
        return respond({
          headers,
          text: plain ?? null,
          html: html ?? null,
          attachments: attachments.map(({ filename, type, disposition, contentId, content }, index) => ({
            index,
            filename: filename ?? null,
            type,
            disposition: disposition ?? null,
            content_id: contentId ?? null,
            size: content.length,
          })),
        });
      },
    ),
    route(
      {
        id: "email-log-get-message-attachment",
        method: "get",
        path: `${ENTRY_PATH}/attachments/{index}`,
        tag,
        summary: "Get an attachment of a message in the log",
        permission: null,
        raw: "application/octet-stream",
      },
      async ({ params, caller }) => {
        const index = /^\d{1,4}$/.test(params.index!) ? Number(params.index) : -1;
        const { attachments } = await readable(readMessageContent(await rawOf(caller, params)));
        const attachment = attachments[index];
        if (attachment === undefined) throw activityErrors.noAttachment({ index: params.index });
        const isImage = /^image\/(png|jpeg|gif|webp)$/.test(attachment.type);
        return download(
          attachment.content,
          isImage ? attachment.type : "application/octet-stream",
          attachment.filename ?? `attachment-${index}`,
        );
      },
    ),
    route(
      {
        id: "email-log-replay-message",
        method: "post",
        path: `${ENTRY_PATH}/replay`,
        tag,
        summary: "Pass a received message to a Worker again; its forwards and replies are sent",
        permission: null,
        body: z.object({ worker: z.string().min(1).max(255).optional(), to: z.email().max(320).optional() }),
        bodyOptional: true,
        result: replaySchema,
      },
      async ({ params: { account_id: account, entry_id: id }, body, caller }) => {
        const entry = await findEntry(caller, account!, id!);
        const resource = entry.zone === "" ? { account: account! } : { account: account!, zone: entry.zone };
        if (!caller.allows("Email Routing Rules Write", resource))
          throw apiErrors.notAllowed({ permission: '"Email Routing Rules Write"' });
        const worker = body.worker ?? entry.script;
        if (worker === null || entry.kind !== "routing" || entry.account !== account) throw activityErrors.noWorker();
        if (!(await workerExists(account, worker))) throw activityErrors.workerMissing({ worker });
        const replayed = await contents.replay(entry, { script: `${account}/${worker}`, to: body.to ?? entry.to });
        if (replayed === undefined) throw activityErrors.notStored();
        const { message, outcome, exception, rejectReason, forwards, replies } = replayed;
        return respond({
          session_message_id: message,
          outcome,
          exception: exception === undefined ? null : `${exception.name}: ${exception.message}`,
          rejected: rejectReason ?? null,
          forwards: forwards.map(({ recipient: to, messageId }) => ({ to, message_id: messageId })),
          replies: replies.map(({ sender: from, messageId }) => ({ from, message_id: messageId })),
        });
      },
    ),
  ];
}
