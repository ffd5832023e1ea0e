import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after } from "node:test";
import { createManualClock, randomIds, silentLog } from "../kernel/index.ts";
import type { EmailOutcome, InboundMail, MailActions, WorkerRuntime } from "../workers/index.ts";
import {
  createSpool,
  type Spool,
  type Outbound,
  type DeliveryResult,
  type TraceEvent,
  type Transport,
} from "./messages/index.ts";

/** Helpers for the mail tests. */

const NOW = Date.UTC(2026, 0, 5, 7, 8, 9);
export const clock = createManualClock(NOW);
export const ids = randomIds;
export const log = silentLog;

export async function temporaryFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "reelpost-mail-"));
  after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export async function newSpool(
  options: { maxBytes?: number; memoryBytes?: number } = {},
): Promise<Spool & { files: () => Promise<string[]> }> {
  const dir = await temporaryFolder();
  // The spool recreates its folder on first use.
  return { ...createSpool({ dir, ids, ...options }), files: () => readdir(dir).catch(() => []) };
}

type Sent = Omit<Outbound, "raw"> & { raw: string };

/** Returns a transport that stores its messages; `answer` returns the result for a recipient. */
export function memoryTransport(
  answer: (rcpt: string) => DeliveryResult = (rcpt) => ({ rcpt, ok: true }),
): Transport & { sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    sent,
    async deliver(mail) {
      const raw = mail.raw();
      sent.push({
        ...mail,
        raw: (raw instanceof Readable ? Buffer.concat(await raw.toArray()) : Buffer.from(raw)).toString("latin1"),
      });
      return mail.to.map(answer);
    },
  };
}

export function memoryTrace(): ((event: TraceEvent) => void) & { events: TraceEvent[] } {
  const events: TraceEvent[] = [];
  return Object.assign((event: TraceEvent) => void events.push(event), { events });
}

type Handler = (mail: InboundMail, actions: MailActions, reject: (reason: string) => void) => Promise<void> | void;

/** Returns a fake worker runtime with one function per worker. */
export function runtimeOf(handlers: Record<string, Handler>): Pick<WorkerRuntime, "email"> {
  return {
    async email(script, mail, actions): Promise<EmailOutcome> {
      const ended = Promise.resolve();
      let rejected: string | undefined;
      try {
        await handlers[script]!(mail, actions, (reason) => void (rejected = reason));
        return { outcome: "ok", ended, ...(rejected === undefined ? {} : { rejected }) };
      } catch (err) {
        return { outcome: "exception", ended, exception: { name: "Error", message: String(err) } };
      }
    },
  };
}

export const summarizeResults = (settled: DeliveryResult[]): string[] =>
  settled.map((one) => (one.ok ? "ok" : `${one.reply.code} ${one.reply.enhanced} ${one.reply.text}`));

/** A client that sends exactly the given bytes. */
export interface RawClient {
  /** Sends the bytes, then resolves with the next complete reply, without its line ending. */
  say(bytes: string | Buffer): Promise<string>;
  send(bytes: string | Buffer): void;
  reply(): Promise<string>;
  /** Resolves with all data up to the end of the connection. */
  rest(): Promise<string>;
  readonly socket: Socket;
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let buffer = "";
  let ended = false;
  let wake = () => {};
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    buffer += text;
    wake();
  });
  const end = () => {
    ended = true;
    wake();
  };
  socket
    .on("close", end)
    .on("end", end)
    .on("error", () => {});

  async function until<T>(found: () => T | undefined): Promise<T | undefined> {
    for (;;) {
      const result = found();
      if (result !== undefined || ended) return result;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const client: RawClient = {
    socket,
    send: (bytes) => void socket.write(bytes),
    say(bytes) {
      client.send(bytes);
      return client.reply();
    },
    async reply() {
      const text = await until(() => /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(buffer)?.[0]);
      if (text === undefined) return "(closed)";
      buffer = buffer.slice(text.length);
      return text.trimEnd();
    },
    async rest() {
      await until(() => undefined);
      return buffer;
    },
  };
  return client;
}

/** Runs a session from the greeting up to the 354 reply. */
export async function runUntilData(
  port: number,
  { from = "a@sender.example", to = ["b@here.example"] }: { from?: string; to?: string[] } = {},
): Promise<RawClient> {
  const client = await rawClient(port);
  await client.reply();
  await client.say("EHLO client.example\r\n");
  await client.say(`MAIL FROM:<${from}>\r\n`);
  for (const rcpt of to) await client.say(`RCPT TO:<${rcpt}>\r\n`);
  const go = await client.say("DATA\r\n");
  if (!go.startsWith("354")) throw new Error(go);
  return client;
}
