import { createServer, type AddressInfo, type Socket } from "node:net";
import { after } from "node:test";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { ReplayableBody, MailResolver, DeliveryRequest } from "./types.ts";

/** Test helpers for outbound mail: scripted next hops and DNS. */

export interface SinkMail {
  from: string;
  to: string[];
  raw: string;
  /** The parameters of MAIL, in upper case. */
  args: Record<string, unknown>;
  rcptArgs: Record<string, unknown>[];
  secure: boolean;
  user: string | undefined;
}

export interface Sink {
  port: number;
  mails: SinkMail[];
  connections: number;
  commands: number;
}

export interface SinkRules extends Omit<SMTPServerOptions, "onData" | "onRcptTo" | "onMailFrom" | "onConnect"> {
  address?: string;
  listenPort?: number;
  /** Each function returns an SMTP rejection reply, such as "451 4.7.1 later". */
  connect?: () => string | undefined;
  mail?: (from: string) => string | undefined;
  rcpt?: (to: string) => string | undefined;
  data?: (mail: SinkMail) => string | undefined | void | Promise<string | undefined>;
}

/** Starts a real SMTP server that stores the mail it accepts. */
export async function startSink({
  address = "127.0.0.1",
  listenPort = 0,
  connect,
  mail,
  rcpt,
  data,
  ...options
}: SinkRules = {}): Promise<Sink> {
  const sink: Sink = { port: 0, mails: [], connections: 0, commands: 0 };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.key === undefined ? ["STARTTLS"] : [],
    disableReverseLookup: true,
    logger: false,
    hideDSN: false,
    hideENHANCEDSTATUSCODES: true,
    closeTimeout: 1,
    ...options,
    onConnect(_session, done) {
      sink.connections++;
      done(errorOf(connect?.()));
    },
    onMailFrom: ({ address: from }, _session, done) => done(errorOf(mail?.(from))),
    onRcptTo: ({ address: to }, _session, done) => done(errorOf(rcpt?.(to))),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const { mailFrom, rcptTo } = session.envelope;
        const kept: SinkMail = {
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map((one) => one.address),
          raw: Buffer.concat(chunks).toString("latin1"),
          args: { ...(mailFrom === false ? {} : mailFrom.args) },
          rcptArgs: rcptTo.map((one) => ({ ...one.args })),
          secure: session.secure,
          user: session.user as string | undefined,
        };
        const refusal = errorOf((await data?.(kept)) || undefined);
        if (refusal === null) sink.mails.push(kept);
        done(refusal);
      });
    },
  } as SMTPServerOptions);
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(listenPort, address, resolve));
  sink.port = (server.server.address() as AddressInfo).port;
  after(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return sink;
}

function errorOf(refusal: string | undefined): Error | null {
  if (refusal === undefined) return null;
  return Object.assign(new Error(refusal.slice(4)), { responseCode: Number(refusal.slice(0, 3)) });
}

/** The reaction to a command: a reply, or HANG, after which the server neither reads nor replies. Default: success. */
export type Script = (command: string, socket: Socket) => string | undefined | void;

export const HANG = "";

/**
 * Starts a server that follows a script, for behaviour that no correct server shows. An empty `greeting` sends none.
 */
export async function startScripted(
  script: Script,
  { greeting = "220 scripted ESMTP", address = "127.0.0.1" } = {},
): Promise<{ port: number; connections: number; open: Set<Socket> }> {
  const state = { port: 0, connections: 0, open: new Set<Socket>() };
  const server = createServer((socket) => {
    state.connections++;
    state.open.add(socket);
    socket.on("close", () => state.open.delete(socket)).on("error", () => {});
    if (greeting !== HANG) socket.write(`${greeting}\r\n`);
    let buffer = "";
    let inData = false;
    let isHung = false;
    socket.on("data", (chunk) => {
      buffer += chunk.toString("latin1");
      while (!isHung) {
        const end = inData ? buffer.indexOf("\r\n.\r\n") : buffer.indexOf("\r\n");
        if (end === -1) return;
        const command = inData ? "." : buffer.slice(0, end);
        buffer = buffer.slice(end + (inData ? 5 : 2));
        const reply = script(command, socket) ?? ordinary(command);
        inData = reply.startsWith("354");
        // A message may consist of the dot alone.
        if (inData) buffer = `\r\n${buffer}`;
        isHung = reply === HANG;
        if (!isHung && !socket.destroyed) socket.write(`${reply}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, address, resolve));
  state.port = (server.address() as AddressInfo).port;
  after(() => {
    for (const socket of state.open) socket.destroy();
    server.close();
  });
  return state;
}

function ordinary(command: string): string {
  const verb = command.slice(0, 4).toUpperCase();
  if (verb === "EHLO") return "250-scripted\r\n250-PIPELINING\r\n250 8BITMIME";
  if (verb === "DATA") return "354 go";
  if (verb === "QUIT") return "221 2.0.0 bye";
  return "250 2.0.0 ok";
}

type Zone = Record<
  string,
  { mx?: [priority: number, exchange: string][]; a?: string[]; aaaa?: string[]; fail?: string }
>;

export function resolverOf(zone: Zone): MailResolver & { queries: string[] } {
  const queries: string[] = [];
  async function look<Value>(
    type: string,
    name: string,
    pick: (entry: Zone[string]) => Value[] | undefined,
  ): Promise<Value[]> {
    queries.push(`${type} ${name}`);
    const entry = zone[name];
    const found = entry && pick(entry);
    const code = entry === undefined ? "ENOTFOUND" : (entry.fail ?? (found === undefined ? "ENODATA" : undefined));
    if (code !== undefined) throw Object.assign(new Error(`query${type} ${code} ${name}`), { code });
    return found!;
  }
  return {
    queries,
    resolveMx: (name) => look("MX", name, ({ mx }) => mx?.map(([priority, exchange]) => ({ priority, exchange }))),
    resolve4: (name) => look("A", name, ({ a }) => a),
    resolve6: (name) => look("AAAA", name, ({ aaaa }) => aaaa),
  };
}

export const bodyOf = (text: string | Buffer): ReplayableBody => {
  const octets = Buffer.from(text as string);
  return { size: octets.length, eightBit: octets.some((octet) => octet > 127), utf8Header: false, open: () => octets };
};

export const deliveryRequestOf = (
  to: string[],
  text = "Subject: x\r\n\r\nhello\r\n",
  more: { from?: string } & { body?: ReplayableBody; ret?: "FULL" | "HDRS"; envid?: string } = {},
): DeliveryRequest => ({
  from: "a@sender.example",
  body: bodyOf(text),
  ...more,
  to: to.map((rcpt) => ({ rcpt })),
});
