import { readCounters } from "./counters.ts";
import type { Env } from "./env.ts";
import { createMessagesTable, type StoredMessage } from "./messages-table.ts";
import { mailboxPage, messagePage, notFoundPage } from "./pages.ts";

const pageSize = 50;

/**
 * `/` and `/messages/<id>` are pages, `/api/messages[/<id>]` returns the same data as JSON, and
 * `/attachments/<id>/<number>` returns the files.
 */
export async function handleRequest(request: Request, env: Env): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD")
    return new Response("Send mail by POST /cdn-cgi/handler/email or over SMTP.\n", {
      status: 405,
      headers: { allow: "GET, HEAD" },
    });
  const messages = createMessagesTable(env.MESSAGES);
  const [, section, ...rest] = new URL(request.url).pathname.split("/");

  if (section === "" && rest.length === 0)
    return page(mailboxPage(env.MAILBOX_NAME, await messages.newest(pageSize), await readCounters(env)));
  if (section === "messages" && rest[0] !== undefined) return showMessage(await messages.get(rest[0]), rest[1]);
  if (section === "api" && rest[0] === "messages")
    return rest[1] === undefined
      ? Response.json({ messages: (await messages.newest(pageSize)).map(summary), counters: await readCounters(env) })
      : json(await messages.get(rest[1]));
  if (section === "attachments" && rest.length === 2)
    return sendAttachment(env, await messages.get(rest[0]!), Number(rest[1]));
  return page(notFoundPage(), 404);
}

function showMessage(message: StoredMessage | undefined, part: string | undefined): Response {
  if (message === undefined) return page(notFoundPage(), 404);
  if (part === undefined) return page(messagePage(message));
  if (part === "body.html" && message.html !== null) return page(message.html);
  return page(notFoundPage(), 404);
}

const json = (message: StoredMessage | undefined) =>
  message === undefined
    ? Response.json({ error: "no such message" }, { status: 404 })
    : Response.json({ ...summary(message), text: message.text, html: message.html });

const summary = ({ text: _text, html: _html, attachments, ...rest }: StoredMessage) => ({
  ...rest,
  attachments: attachments.map((attachment) => ({
    ...attachment,
    url: `/attachments/${rest.id}/${attachment.number}`,
  })),
});

/**
 * Mail comes from strangers: pages must not run scripts or load remote content, and HTML from messages is shown only in
 * a sandbox.
 */
const page = (html: string, status = 200) =>
  new Response(html, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "sandbox allow-same-origin allow-downloads; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'",
      "referrer-policy": "no-referrer",
    },
  });

async function sendAttachment(env: Env, message: StoredMessage | undefined, number: number): Promise<Response> {
  const attachment = message?.attachments.find((candidate) => candidate.number === number);
  if (message === undefined || attachment === undefined) return page(notFoundPage(), 404);
  const object = await env.ATTACHMENTS.get(`${message.id}/${number}`);
  if (object === null) return page(notFoundPage(), 404);
  return new Response(object.body, {
    headers: {
      // The value set by the sender might not be a media type.
      "content-type": /^[\w.+-]+\/[\w.+-]+$/.test(attachment.type) ? attachment.type : "application/octet-stream",
      "content-length": String(object.size),
      "content-disposition": `attachment; filename*=UTF-8''${extValue(attachment.name)}`,
      etag: object.httpEtag,
      "x-content-type-options": "nosniff",
    },
  });
}

// RFC 8187 3.2.1 allows fewer characters than encodeURIComponent leaves unescaped.
const extValue = (name: string) =>
  encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
