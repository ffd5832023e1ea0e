import { z } from "@hono/zod-openapi";
import type { GuardedFetch } from "../../../kernel/guarded-fetch.ts";
import { UserError } from "../../../kernel/index.ts";
import {
  checkLinks,
  messageHtmlPage,
  htmlPolicy,
  linksOf,
  mailErrors,
  parseInboxSearch,
  type Inbox,
  type InboxActions,
  type MessageContent,
} from "../../../mail/index.ts";
import { apiErrors } from "../../errors.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import {
  composeBody,
  inboxDetailsSchema,
  inboxMessageSchema,
  linkSchema,
  showContent,
  showInboxMessage,
} from "./inbox-schemas.ts";

interface InboxRoutesDeps {
  inbox: Inbox;
  actions: InboxActions;
  /** Checks links; must not reach private addresses. */
  fetch: GuardedFetch;
  /** Checks links to private addresses, on request. If absent, such requests are rejected. */
  fetchPrivate?: GuardedFetch;
}

const tag = "Email inbox";
const BASE = "/accounts/{account_id}/email/inbox/messages";
const ONE = `${BASE}/{message_id}`;
const reading = { tag, permission: "Email Routing Rules Read" } as const;
const writing = { tag, permission: "Email Routing Rules Write" } as const;
/** A message of 25 MiB in base64 or JSON. */
const MAX_COMPOSE_BYTES = 36 * 1024 * 1024;
const MAX_WAIT_SECONDS = 60;

const search = z.string().max(1000).default("").openapi({
  description:
    'Words, "phrases", from:, to:, subject:, message-id:, worker:, cause:, kind:, status:, has:attachment, is:read, is:unread, before: and after:; a leading - excludes',
});
const flag = z
  .enum(["true", "false"])
  .default("false")
  .transform((text) => text === "true")
  .pipe(z.boolean());
const recipients = z.array(z.string()).min(1).max(100).optional();
const idResult = z.object({ id: z.string() });

/** Message content must not run or be sniffed in a browser: it is served from the origin of the API. */
const UNTRUSTED = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "sandbox; default-src 'none'",
};

/** The inbox: received, forwarded and sent messages and replies, for inspection and for tests. */
export const inboxRoutes = ({ inbox, actions, fetch, fetchPrivate }: InboxRoutesDeps): Route[] => {
  const contentOf = (account: string, id: string): Promise<MessageContent | undefined> =>
    inbox.content(account, id).catch((err: unknown) => {
      if (err instanceof UserError && err.kind === "inboxContentInvalid") return undefined;
      throw err;
    });

  return [
    route(
      {
        id: "email-inbox-list-messages",
        method: "get",
        path: BASE,
        summary: "List the messages of the inbox, newest first",
        ...reading,
        query: z.object({
          ...pageQuery({ perPage: 50 }),
          query: search,
          wait: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).optional().openapi({
            description: "Seconds to wait until a message matches",
          }),
          count: z.coerce.number().int().min(1).max(1000).default(1).openapi({
            description: "With `wait`: the number of messages that must match",
          }),
        }),
        result: z.array(inboxMessageSchema),
      },
      async ({ params, query: { query, wait, count, ...paging }, node }) => {
        const page = pageRequest(paging);
        const terms = parseInboxSearch(query);
        if (wait === undefined)
          return respondWithPage(await inbox.list(params.account_id!, terms, page), page, showInboxMessage);
        const gone = new AbortController();
        node.outgoing.once("close", () => gone.abort());
        const found = await inbox.wait(params.account_id!, terms, {
          count,
          timeoutMs: wait * 1000,
          page,
          signal: gone.signal,
        });
        return respondWithPage(found, page, showInboxMessage);
      },
    ),

    route(
      {
        id: "email-inbox-delete-messages",
        method: "delete",
        path: BASE,
        summary: "Delete all messages of the inbox, or those that match",
        ...writing,
        query: z.object({ query: search }),
        result: z.object({ deleted: z.number().int() }),
      },
      async ({ params, query }) =>
        respond({ deleted: await inbox.deleteMatching(params.account_id!, parseInboxSearch(query.query)) }),
    ),

    route(
      {
        id: "email-inbox-create-message",
        method: "post",
        path: BASE,
        summary: "Compose a message and pass it to the worker of its recipient",
        ...writing,
        maxBytes: MAX_COMPOSE_BYTES,
        body: composeBody,
        result: idResult,
      },
      async ({ body: { raw, worker, ...body } }) => {
        if (raw !== undefined)
          return respond(
            await actions.receive({
              from: addressesOf(body.from)[0] ?? "",
              to: addressesOf(body.to),
              raw: Buffer.from(raw.replace(/\r?\n/g, "\r\n")),
              worker,
            }),
          );
        const { reply_to: replyTo, attachments, text, html, ...rest } = body;
        return respond(
          await actions.compose({
            ...rest,
            replyTo,
            text: text ?? undefined,
            html: html ?? undefined,
            attachments: attachments?.map(({ content_id: contentId, ...file }) => ({ ...file, contentId })),
          }),
        );
      },
    ),

    route(
      {
        id: "email-inbox-get-message",
        method: "get",
        path: ONE,
        summary: "Get a message with its content and the messages it caused",
        ...reading,
        result: inboxDetailsSchema,
      },
      async ({ params: { account_id: account, message_id: id } }) => {
        const message = await inbox.get(account!, id!);
        const content = await contentOf(account!, id!);
        const caused = await inbox.causedBy(account!, id!);
        return respond({
          ...showInboxMessage(message),
          content: showContent(content),
          caused: caused.map(showInboxMessage),
        });
      },
    ),

    route(
      {
        id: "email-inbox-update-message",
        method: "patch",
        path: ONE,
        summary: "Mark a message as read or unread",
        ...writing,
        body: z.object({ read: z.boolean() }),
        result: inboxMessageSchema,
      },
      async ({ params: { account_id: account, message_id: id }, body: { read } }) => {
        await inbox.get(account!, id!);
        inbox.update(account!, id!, { read });
        return respond(showInboxMessage(await inbox.get(account!, id!)));
      },
    ),

    route(
      {
        id: "email-inbox-delete-message",
        method: "delete",
        path: ONE,
        summary: "Delete a message",
        ...writing,
        result: idResult,
      },
      async ({ params: { account_id: account, message_id: id } }) => {
        await inbox.delete(account!, id!);
        return respond({ id: id! });
      },
    ),

    route(
      {
        id: "email-inbox-get-raw-message",
        method: "get",
        path: `${ONE}/raw`,
        summary: "Get the raw message",
        ...reading,
        raw: "message/rfc822",
      },
      async ({ params: { account_id: account, message_id: id } }) => {
        return new Response(new Uint8Array(await inbox.raw(account!, id!)), {
          headers: {
            ...UNTRUSTED,
            "content-type": "message/rfc822",
            "content-disposition": `attachment; filename="${id}.eml"`,
          },
        });
      },
    ),

    route(
      {
        id: "email-inbox-get-message-html",
        method: "get",
        path: `${ONE}/html`,
        summary: "Get the HTML of a message as a self-contained page without scripts",
        ...reading,
        query: z.object({
          remote: flag.openapi({ type: "boolean", description: "Allow images and styles of other servers" }),
        }),
        raw: "text/html",
      },
      async ({ params: { account_id: account, message_id: id }, query: { remote } }) => {
        const page = messageHtmlPage(await inbox.content(account!, id!), { remote });
        if (page === undefined) throw mailErrors.inboxHtmlMissing({ id });
        return new Response(page, {
          headers: {
            ...UNTRUSTED,
            "content-type": "text/html; charset=utf-8",
            "content-security-policy": `sandbox allow-popups allow-popups-to-escape-sandbox; ${htmlPolicy({ remote })}`,
          },
        });
      },
    ),

    route(
      {
        id: "email-inbox-get-attachment",
        method: "get",
        path: `${ONE}/attachments/{index}`,
        summary: "Get an attachment by its index",
        ...reading,
        raw: "application/octet-stream",
      },
      async ({ params: { account_id: account, message_id: id, index } }) => {
        const { attachments } = await inbox.content(account!, id!);
        const attachment = /^\d{1,4}$/.test(index!) ? attachments[Number(index)] : undefined;
        if (attachment === undefined) throw mailErrors.inboxAttachmentMissing({ id, n: index!.slice(0, 20) });
        const { filename = "attachment", type, content } = attachment;
        return new Response(new Uint8Array(content), {
          headers: {
            ...UNTRUSTED,
            "content-type": MEDIA_TYPE.test(type) ? type : "application/octet-stream",
            "content-disposition": `attachment; filename*=UTF-8''${encodeFilename(filename)}`,
          },
        });
      },
    ),

    route(
      {
        id: "email-inbox-list-links",
        method: "get",
        path: `${ONE}/links`,
        summary: "List the links of a message, and check them on request",
        ...reading,
        query: z.object({
          check: flag.openapi({ type: "boolean", description: "Request every link" }),
          private: flag.openapi({
            type: "boolean",
            description: "With `check`: also request private addresses. Only in `reelpost dev`",
          }),
        }),
        result: z.array(linkSchema),
      },
      async ({ params: { account_id: account, message_id: id }, query, node }) => {
        const links = linksOf(await inbox.content(account!, id!));
        const fetchLink = query.private ? fetchPrivate : fetch;
        if (fetchLink === undefined)
          throw apiErrors.badRequest({ reason: "This server does not check links to private addresses" });
        const gone = new AbortController();
        node.outgoing.once("close", () => gone.abort());
        const checked = query.check ? await checkLinks(links, fetchLink, gone.signal) : links;
        return respond(
          checked.map(({ url, kind, status = null, finalUrl = null, error = null }) => ({
            url,
            kind,
            status,
            final_url: finalUrl,
            error,
          })),
        );
      },
    ),

    route(
      {
        id: "email-inbox-resend-message",
        method: "post",
        path: `${ONE}/resend`,
        summary: "Pass a message to the worker again, as a new message",
        ...writing,
        bodyOptional: true,
        body: z.object({
          worker: z.string().optional().openapi({ description: "Default: the worker of the recipient" }),
          from: z.string().optional().openapi({ description: "Envelope sender. Default: that of the message" }),
          to: recipients.openapi({ description: "Envelope recipients. Default: those of the message" }),
        }),
        result: idResult,
      },
      async ({ params: { account_id: account, message_id: id }, body }) =>
        respond(await actions.resend(account!, id!, body)),
    ),

    route(
      {
        id: "email-inbox-release-message",
        method: "post",
        path: `${ONE}/release`,
        summary: "Send a message to an SMTP server",
        ...writing,
        bodyOptional: true,
        body: z.object({
          server: z.string().max(1000).optional().openapi({
            description: "`smtp://user:password@host:587`. Default: the setting inbox.release_server",
          }),
          from: z.string().optional().openapi({ description: "Envelope sender. Default: that of the message" }),
          to: recipients.openapi({ description: "Envelope recipients. Default: those of the message" }),
        }),
        result: z.array(
          z.object({
            to: z.string(),
            outcome: z.enum(["delivered", "temporary", "permanent"]),
            reply: z.string(),
          }),
        ),
      },
      async ({ params: { account_id: account, message_id: id }, body }) => {
        const results = await actions.release(account!, id!, body);
        return respond(
          results.map(({ rcpt, outcome, reply: { code, enhanced, text } }) => ({
            to: rcpt,
            outcome,
            reply: `${code} ${enhanced} ${text}`,
          })),
        );
      },
    ),
  ];
};

/** Media types are untrusted: only the characters of RFC 6838 4.2 are allowed. */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** RFC 8187 3.2.1. */
const encodeFilename = (name: string) =>
  encodeURIComponent(name.toWellFormed().slice(0, 200)).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

type ComposedAddress = z.output<typeof composeBody>["from"] | z.output<typeof composeBody>["to"];

const addressesOf = (value: ComposedAddress): string[] =>
  value === undefined ? [] : [value].flat().map((one) => (typeof one === "string" ? one : one.email));
