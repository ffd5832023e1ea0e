import { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { createSecureContext, type SecureContext } from "node:tls";
import { clock, ids, log, newSpool, rawClient, type RawClient } from "../mail.testing.ts";
import type { Spool, Envelope, DeliveryResult } from "../messages/index.ts";
import { selfSigned } from "../outbound/certificate.testing.ts";
import { createSmtpListener, type SmtpLimits, type SmtpListenerOptions } from "./listener.ts";

interface Taken {
  envelope: Envelope;
  raw: string;
}

export interface Listening extends Partial<
  Pick<SmtpListenerOptions, "tls" | "proxies" | "checkRecipient" | "blockLists" | "filter" | "onRejected" | "clock">
> {
  limits?: Partial<SmtpLimits>;
  settle?: (envelope: Envelope) => DeliveryResult[] | Promise<DeliveryResult[]>;
  spool?: Spool;
}

/** Starts an SMTP listener that stores accepted messages. */
export async function listen(t: TestContext, { settle, limits, spool: given, ...options }: Listening = {}) {
  const taken: Taken[] = [];
  const opened = await newSpool();
  let spooled = 0;
  async function* counted(body: AsyncIterable<Uint8Array>) {
    for await (const chunk of body) {
      spooled += chunk.length;
      yield chunk;
    }
  }
  const spool: Spool = given ?? { ...opened, collect: (body, how) => opened.collect(counted(body), how) };
  const listener = await createSmtpListener({
    host: "127.0.0.1",
    port: 0,
    name: "mx.test",
    dsn: true,
    spool,
    clock,
    ids,
    log,
    limits,
    ...options,
    async receive(envelope, source) {
      const opened = source.open();
      taken.push({
        envelope,
        raw: Buffer.from(opened instanceof Readable ? Buffer.concat(await opened.toArray()) : opened).toString(
          "latin1",
        ),
      });
      await source.discard();
      return settle?.(envelope) ?? envelope.to.map((rcpt): DeliveryResult => ({ rcpt, ok: true }));
    },
  });
  t.after(() => listener.close());
  return { port: listener.port, listener, taken, spoolFiles: opened.files, spooledBytes: () => spooled };
}

/** Resolves with a client that has received the reply to its EHLO. */
export async function openGreetedClient(port: number, hello = "EHLO client.example"): Promise<RawClient> {
  const client = await rawClient(port);
  await client.reply();
  await client.say(`${hello}\r\n`);
  return client;
}

/** Resolves with a listener and a client that has received the reply to its EHLO. */
export async function conversation(t: TestContext, options?: Listening) {
  const world = await listen(t, options);
  const client = await openGreetedClient(world.port);
  t.after(() => client.socket.destroy());
  return { ...world, client, say: (line: string) => client.say(`${line}\r\n`) };
}

export const withoutReceived = (raw: string) => raw.replace(/^Received: .*\r\n(?:\t.*\r\n)*/, "");

/** Returns a certificate per name, created on first use; `renew` replaces all of them. */
export function testCertificates() {
  let contexts = new Map<string, SecureContext>();
  return {
    context(serverName = "mx.test"): SecureContext {
      if (!contexts.has(serverName)) contexts.set(serverName, createSecureContext(selfSigned(serverName)));
      return contexts.get(serverName)!;
    },
    renew: () => void (contexts = new Map()),
  };
}
