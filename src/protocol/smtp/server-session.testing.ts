import { formatReply, type Reply } from "./reply.ts";
import { createServerSession } from "./server-session.ts";
import type { SmtpServerEvent, ServerSession, ServerSessionOptions } from "./server-session-types.ts";

type Changes = Partial<Omit<ServerSessionOptions, "extensions" | "limits">> & {
  extensions?: Partial<ServerSessionOptions["extensions"]>;
  limits?: Partial<ServerSessionOptions["limits"]>;
  /** Returns the reply to a decision; undefined means acceptance. */
  decide?: (event: SmtpServerEvent, session: ServerSession) => Reply | undefined;
};

interface Message {
  from: string;
  to: string[];
  content: string;
  stray: "CR" | "LF" | undefined;
  oversized: boolean;
}

/** Opens a session whose decisions are made immediately. Records its replies, events and accepted messages. */
export function openSession({ decide, extensions, limits, ...changes }: Changes = {}) {
  const session = createServerSession({
    name: "mx.test",
    ip: "192.0.2.1",
    extensions: {
      pipelining: true,
      smtputf8: true,
      dsn: true,
      chunking: true,
      starttls: true,
      auth: false,
      ...extensions,
    },
    maxSize: 1000,
    maxRecipients: 3,
    maxCommand: 100,
    limits: { errors: 1000, errorsBeforeDelay: 1000, commands: 1000, ...limits },
    ...changes,
  });
  const events: SmtpServerEvent["type"][] = [];
  const messages: Message[] = [];
  let content = "";
  let replies = "";

  function run() {
    for (let event = session.next(); event !== undefined; event = session.next()) {
      events.push(event.type);
      if (event.type === "reply") replies += formatReply(event.reply);
      if (event.type === "data" || event.type === "aborted") content = "";
      if (event.type === "content") content += event.content.toString("latin1");
      if (event.type === "mail" || event.type === "recipient" || event.type === "credentials")
        session.decide(decide?.(event, session));
      if (event.type === "message") {
        const { from, recipients } = session.currentTransaction()!;
        const to = [...recipients.values()].map(({ address }) => address);
        messages.push({ from, to, content, stray: event.stray, oversized: event.oversized });
        session.decide(decide?.(event, session));
      }
    }
  }

  /** Passes octets to the session and returns the replies to them. */
  function say(octets: string | Buffer): string {
    replies = "";
    session.push(Buffer.from(octets as string, "latin1"));
    run();
    return replies;
  }

  return { session, events, messages, say, run, line: (command: string) => say(`${command}\r\n`) };
}

/** Opens a session in a transaction with one recipient. */
export function inTransaction(changes?: Changes) {
  const opened = openSession(changes);
  for (const command of ["EHLO client.test", "MAIL FROM:<a@b.test>", "RCPT TO:<b@here.test>"]) opened.line(command);
  return opened;
}
