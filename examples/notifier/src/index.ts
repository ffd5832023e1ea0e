import PostalMime from "postal-mime";
import { notify, notifyPending, type Notice } from "./notify.ts";

export interface Env {
  /** Receives a POST request with one Notice as JSON. */
  NOTIFY_URL: string;
  /** Undelivered notices, under "pending/<id>". */
  PENDING: KVNamespace;
}

export default {
  async email(message, env, ctx) {
    const mail = await PostalMime.parse(message.raw);
    const notice: Notice = {
      id: crypto.randomUUID(),
      messageId: mail.messageId ?? "",
      from: message.from,
      to: message.to,
      subject: mail.subject ?? "",
      preview: (mail.text ?? "").slice(0, 280),
      attachments: mail.attachments.length,
    };
    // The message is accepted immediately; the request continues afterwards, and its failure never bounces the message.
    ctx.waitUntil(notify(notice, env).then((delivered) => (delivered ? notifyPending(env) : undefined)));
  },

  /** Returns the pending notices as JSON. */
  async fetch(_request, env) {
    const { keys } = await env.PENDING.list({ prefix: "pending/" });
    return Response.json({
      notifyUrl: env.NOTIFY_URL,
      pending: keys.map(({ name, metadata }) => ({ key: name, why: metadata })),
    });
  },
} satisfies ExportedHandler<Env>;
