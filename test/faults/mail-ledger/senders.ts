import { setTimeout as sleep } from "node:timers/promises";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { LEDGER } from "./sink.ts";

export interface Sent {
  number: string;
  to: string;
}

interface Senders {
  /** Messages that received the reply 250. */
  acknowledged: Sent[];
  /** All other messages started, which received a different reply or none. */
  unacknowledged: Sent[];
  /** Waits for messages in transit. */
  stop(): Promise<void>;
}

/**
 * Clients that send one message after another, each from a distinct address in `domain` to each of `recipients` in
 * turn, and continue regardless of the result.
 */
export function startSenders({
  port,
  domain,
  recipients,
  clients,
}: {
  port: number;
  domain: string;
  recipients: string[];
  clients: number;
}): Senders {
  const acknowledged: Sent[] = [];
  const unacknowledged: Sent[] = [];
  const stopping = new AbortController();

  async function client(name: string) {
    let connection: SMTPConnection | undefined;
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const sent = { number: `${name}-${turn}`, to: recipients[turn % recipients.length]! };
      try {
        connection ??= await connect(port);
        await send(connection, `${sent.number}@${domain}`, sent);
        acknowledged.push(sent);
      } catch (err) {
        unacknowledged.push(sent);
        if ((err as { responseCode?: number }).responseCode === undefined) {
          connection?.close();
          connection = undefined;
          await sleep(50);
        }
      }
    }
    connection?.close();
  }

  const all = Promise.all(Array.from({ length: clients }, (_, i) => client(`c${i}`)));
  return {
    acknowledged,
    unacknowledged,
    async stop() {
      stopping.abort();
      await all;
    },
  };
}

function connect(port: number): Promise<SMTPConnection> {
  const connection = new SMTPConnection({
    host: "127.0.0.1",
    port,
    ignoreTLS: true,
    connectionTimeout: 5000,
    greetingTimeout: 5000,
    socketTimeout: 90_000,
  });
  // A failure between messages is detected when the next message is sent.
  connection.on("error", () => {});
  return new Promise((resolve, reject) => {
    connection.once("error", reject);
    connection.connect((err) => (err ? reject(err) : resolve(connection)));
  });
}

function send(connection: SMTPConnection, from: string, { number, to }: Sent): Promise<void> {
  const raw = `From: ${from}\r\nTo: ${to}\r\nSubject: ${number}\r\nMessage-ID: <${number}@ledger.example>\r\n${LEDGER}: ${number}\r\n\r\n${"line of text\r\n".repeat(40)}`;
  return new Promise((resolve, reject) => {
    connection.once("error", reject);
    connection.once("end", () => reject(new Error("the connection ended")));
    connection.send({ from, to }, raw, (err) => {
      connection.removeAllListeners("end");
      connection.off("error", reject);
      if (err) reject(err);
      else resolve();
    });
  });
}
