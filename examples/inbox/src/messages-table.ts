export interface StoredMessage {
  id: string;
  sender: string;
  senderName: string;
  recipient: string;
  subject: string;
  text: string;
  html: string | null;
  /** Size in octets of the message as it arrived. */
  size: number;
  /** ISO 8601 */
  receivedAt: string;
  attachments: Attachment[];
}

export interface Attachment {
  /** Position in the message, from 0; together with the message id it is the object's key. */
  number: number;
  name: string;
  type: string;
  size: number;
}

type MessageRow = Omit<StoredMessage, "attachments">;
type AttachmentRow = Attachment & { message: string };

const schema = [
  `CREATE TABLE IF NOT EXISTS messages (
     id TEXT PRIMARY KEY, sender TEXT NOT NULL, senderName TEXT NOT NULL, recipient TEXT NOT NULL, subject TEXT NOT NULL,
     text TEXT NOT NULL, html TEXT, size INTEGER NOT NULL, receivedAt TEXT NOT NULL)`,
  "CREATE INDEX IF NOT EXISTS messages_newest ON messages (receivedAt DESC, id)",
  `CREATE TABLE IF NOT EXISTS attachments (
     message TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, size INTEGER NOT NULL,
     PRIMARY KEY (message, number))`,
];

/** The index of the mailbox. Creates its tables if missing, so that the example needs no migration. */
export function createMessagesTable(db: D1Database) {
  const ready = () => db.batch(schema.map((statement) => db.prepare(statement)));

  return {
    async put({ attachments, ...message }: StoredMessage): Promise<void> {
      await ready();
      const { id, sender, senderName, recipient, subject, text, html, size, receivedAt } = message;
      // A batch is one transaction: readers see the message with all its attachments or not at all.
      await db.batch([
        db
          .prepare(
            "INSERT OR REPLACE INTO messages (id, sender, senderName, recipient, subject, text, html, size, receivedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
          )
          .bind(id, sender, senderName, recipient, subject, text, html, size, receivedAt),
        db.prepare("DELETE FROM attachments WHERE message = ?").bind(id),
        ...attachments.map(({ number, name, type, size: octets }) =>
          db
            .prepare("INSERT INTO attachments (message, number, name, type, size) VALUES (?, ?, ?, ?, ?)")
            .bind(id, number, name, type, octets),
        ),
      ]);
    },

    /** Newest first. */
    async newest(limit: number): Promise<StoredMessage[]> {
      await ready();
      const { results: messages } = await db
        .prepare("SELECT * FROM messages ORDER BY receivedAt DESC, id LIMIT ?")
        .bind(limit)
        .all<MessageRow>();
      const { results: attachments } = await db
        .prepare(
          "SELECT a.* FROM attachments a JOIN (SELECT id FROM messages ORDER BY receivedAt DESC, id LIMIT ?) m ON m.id = a.message ORDER BY a.number",
        )
        .bind(limit)
        .all<AttachmentRow>();
      return messages.map((message) => withAttachments(message, attachments));
    },

    async get(id: string): Promise<StoredMessage | undefined> {
      await ready();
      const message = await db.prepare("SELECT * FROM messages WHERE id = ?").bind(id).first<MessageRow>();
      if (message === null) return undefined;
      const { results } = await db
        .prepare("SELECT * FROM attachments WHERE message = ? ORDER BY number")
        .bind(id)
        .all<AttachmentRow>();
      return withAttachments(message, results);
    },

    async totals(): Promise<{ messages: number; attachments: number; octets: number }> {
      await ready();
      const totals = await db
        .prepare(
          "SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM attachments) AS attachments, (SELECT coalesce(sum(size), 0) FROM messages) AS octets",
        )
        .first<{ messages: number; attachments: number; octets: number }>();
      return totals ?? { messages: 0, attachments: 0, octets: 0 };
    },
  };
}

function withAttachments(message: MessageRow, rows: AttachmentRow[]): StoredMessage {
  const own = rows.filter((row) => row.message === message.id);
  return { ...message, attachments: own.map(({ number, name, type, size }) => ({ number, name, type, size })) };
}
