import PostalMime from "postal-mime";

export default {
  /** Called once for every message. When it throws, the sender's server is asked to try again later. */
  async email(message, env, _ctx) {
    const mail = await PostalMime.parse(message.raw);
    const id = crypto.randomUUID();
    console.log(`${message.from} wrote: ${mail.subject ?? "(no subject)"}`);

    for (const [i, attachment] of mail.attachments.entries()) {
      await env.ATTACHMENTS.put(`${id}/${i}-${attachment.filename ?? "unnamed"}`, attachment.content, { httpMetadata: { contentType: attachment.mimeType } });
    }

    await createTable(env.DB);
    await env.DB.prepare("INSERT INTO messages (id, sender, recipient, subject, text, attachments, received) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(id, message.from, message.to, mail.subject ?? "", mail.text ?? "", mail.attachments.length, new Date().toISOString())
      .run();
  },

  /** The newest messages, as a page. */
  async fetch(_request, env, _ctx) {
    await createTable(env.DB);
    const { results } = await env.DB.prepare("SELECT sender, subject, attachments, received FROM messages ORDER BY received DESC LIMIT 50").all<Row>();
    const rows = results.map((row) => `<tr><td>${escape(row.received)}<td>${escape(row.sender)}<td>${escape(row.subject)}<td>${row.attachments}`);
    const page = `<!doctype html><title>${env.TITLE}</title><h1>${env.TITLE}</h1><table><tr><th>Received<th>From<th>Subject<th>Attachments${rows.join("")}</table>`;
    return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
  },
} satisfies ExportedHandler<Env>;

interface Row {
  sender: string;
  subject: string;
  attachments: number;
  received: string;
}

const createTable = (db: D1Database) => db.exec("CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, sender TEXT, recipient TEXT, subject TEXT, text TEXT, attachments INTEGER, received TEXT)");

const escape = (text: string) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
