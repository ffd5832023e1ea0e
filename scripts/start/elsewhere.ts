import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export interface DeliveredMail {
  from: string;
  to: string[];
  /** The message as received. */
  raw: string;
}

/** Simulates the rest of the internet: a mail server on this machine that accepts everything. */
export interface ExternalMailServer {
  port: number;
  /** Resolves with the first matching message; waits for it for up to `ms`. */
  next(fits: (mail: DeliveredMail) => boolean, ms?: number): Promise<DeliveredMail>;
  close(): Promise<void>;
}

/** Maximum number of stored messages; the newest are kept. */
const MOST = 100;

export async function startExternalMailServer(): Promise<ExternalMailServer> {
  const came: DeliveredMail[] = [];
  let waiting: (() => void)[] = [];
  async function take(stream: Readable, from: string, to: string[]) {
    came.push({ from, to, raw: await text(stream) });
    if (came.length > MOST) came.shift();
    const all = waiting;
    waiting = [];
    for (const look of all) look();
  }

  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    onData(stream, { envelope: { mailFrom, rcptTo } }, done) {
      // An aborted transfer is not a message.
      void take(
        stream,
        mailFrom ? mailFrom.address : "",
        rcptTo.map(({ address }) => address),
      )
        .catch(() => {})
        .finally(done);
    },
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));

  return {
    port: (server.server.address() as AddressInfo).port,
    next: (fits, ms = 20_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("the other mail server got nothing")), ms);
        const look = () => {
          const at = came.findIndex(fits);
          if (at === -1) return void waiting.push(look);
          clearTimeout(timer);
          resolve(came.splice(at, 1)[0]!);
        };
        look();
      }),
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
