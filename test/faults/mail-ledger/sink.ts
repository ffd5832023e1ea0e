import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

/** Deliveries to a smart host, by the number contained in each message. */
export interface Sink {
  port: number;
  /** Number of deliveries per message and recipient. */
  delivered: Map<string, number>;
  /** Messages listed in a bounce to their sender. */
  bounced: Set<string>;
  close(): Promise<void>;
}

export const LEDGER = "X-Ledger";
const NUMBER = /^X-Ledger: (\S+)/m;

/**
 * Starts the remote mail servers. Every fifth message is deferred at first, so that it enters the queue; mail for
 * `gone@` is deferred and then rejected, so that its sender must get a bounce.
 */
export async function startSink(): Promise<Sink> {
  const delivered = new Map<string, number>();
  const bounced = new Set<string>();
  const seen = new Set<string>();
  const deferred = Object.assign(new Error("4.7.1 try again later"), { responseCode: 451 });
  const refused = Object.assign(new Error("5.1.1 no such user"), { responseCode: 550 });

  function rejectionOf(raw: string, from: string, to: string[]): Error | undefined {
    const number = NUMBER.exec(raw)?.[1];
    if (number === undefined) return undefined;
    if (from === "" && /multipart\/report/.test(raw)) {
      bounced.add(number);
      return undefined;
    }
    const first = !seen.has(number);
    seen.add(number);
    if (to.some((rcpt) => rcpt.startsWith("gone@"))) return first ? deferred : refused;
    if (first && Number(number.split("-")[1]) % 5 === 0) return deferred;
    for (const rcpt of to) delivered.set(`${number} ${rcpt}`, (delivered.get(`${number} ${rcpt}`) ?? 0) + 1);
    return undefined;
  }

  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    closeTimeout: 1000,
    onData(stream, { envelope: { mailFrom, rcptTo } }, done) {
      // A killed client disconnects in the middle of a message, which counts as not sent.
      void take();
      async function take() {
        const raw = await text(stream).catch(() => undefined);
        done(
          raw === undefined
            ? deferred
            : rejectionOf(
                raw,
                mailFrom ? mailFrom.address : "",
                rcptTo.map(({ address }) => address),
              ),
        );
      }
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    delivered,
    bounced,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
