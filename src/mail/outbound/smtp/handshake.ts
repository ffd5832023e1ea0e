import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { TlsLevel } from "../types.ts";
import type { Channel } from "./channel.ts";
import { SessionFailure } from "./failure.ts";
import { reply } from "./replies.ts";
import type { SmtpTimeouts } from "./timeouts.ts";

/** The SMTP handshake, from the greeting to the point where mail can be sent: EHLO, STARTTLS, AUTH. */

export interface Extensions {
  /** The keywords of the EHLO reply with their parameters, upper case. */
  keywords: Map<string, string[]>;
}

interface HandshakeOptions {
  channel: Channel;
  /** For example, `mx1.example.com [192.0.2.1]:25`. */
  peer: string;
  host: string;
  /** Our name in EHLO. */
  name: string;
  level: TlsLevel;
  implicitTls: boolean;
  /** Called when TLS is established. Throws to refuse the host. */
  verify(): void;
  auth: { user: string; pass: string } | undefined;
  /** Certificates to trust and to require. */
  tls: Pick<ConnectionOptions, "ca" | "rejectUnauthorized" | "minVersion">;
  timeouts: SmtpTimeouts;
  /** Sets whether a failure from now on counts as a TLS failure. */
  onTls(isStarted: boolean): void;
}

export async function handshake(options: HandshakeOptions): Promise<Extensions> {
  const { channel, timeouts, level, implicitTls, auth, peer } = options;
  channel.setSilence(timeouts.greetingMs);
  if (implicitTls) await startTls(options);
  const greeting = await channel.reply();
  if (!isPositive(greeting)) throw createRefusal("the server refused the session in its greeting", greeting);
  channel.setSilence(timeouts.commandMs);
  let extensions = await hello(options);
  if (!implicitTls && level !== "none" && (level !== "opportunistic" || extensions.keywords.has("STARTTLS"))) {
    options.onTls(true);
    const startTlsReply = await channel.command("STARTTLS");
    if (isPositive(startTlsReply)) {
      await startTls(options);
      extensions = await hello(options);
    } else if (level !== "opportunistic") throw createRefusal("STARTTLS was refused", startTlsReply, "ETLS");
    options.onTls(false);
  }
  if (channel.tlsSocket() !== undefined) options.verify();
  if (auth === undefined) return extensions;
  if (channel.tlsSocket() === undefined && level !== "none")
    throw new SessionFailure(reply(451, "4.7.5", `${peer}: a password is not sent over an unencrypted connection`));
  await authenticate(channel, auth, extensions.keywords.get("AUTH") ?? []);
  return extensions;
}

async function startTls({ channel, host, tls, timeouts, onTls }: HandshakeOptions) {
  onTls(true);
  channel.setSilence(timeouts.greetingMs);
  await channel.startTls({ ...tls, host, ...(isIP(host) === 0 && { servername: host }) });
  channel.setSilence(timeouts.commandMs);
  onTls(false);
}

/** Sends EHLO, or HELO if the server does not know EHLO. */
async function hello({ channel, name, level }: HandshakeOptions): Promise<Extensions> {
  const ehlo = await channel.command(`EHLO ${name}`);
  if (isPositive(ehlo)) return { keywords: keywordsOf(ehlo) };
  if (ehlo.startsWith("421")) throw createRefusal("EHLO was refused", ehlo);
  if (level !== "none" && level !== "opportunistic")
    throw createRefusal("EHLO was refused, but STARTTLS requires it", ehlo, "ETLS");
  const helo = await channel.command(`HELO ${name}`);
  if (!isPositive(helo)) throw createRefusal("HELO was refused", helo);
  return { keywords: new Map() };
}

function keywordsOf(ehlo: string): Map<string, string[]> {
  const keywords = new Map<string, string[]>();
  for (const line of ehlo.split("\n").slice(1)) {
    // Old servers write AUTH=LOGIN.
    const [keyword = "", ...params] = line
      .slice(4)
      .toUpperCase()
      .trim()
      .split(/[\s=]+/);
    keywords.set(keyword, [...(keywords.get(keyword) ?? []), ...params]);
  }
  return keywords;
}

async function authenticate(
  channel: Channel,
  { user, pass }: { user: string; pass: string },
  offeredMechanisms: string[],
) {
  const mechanism = ["PLAIN", "LOGIN", "CRAM-MD5"].find((name) => offeredMechanisms.includes(name)) ?? "PLAIN";
  let serverReply: string;
  if (mechanism === "PLAIN") serverReply = await channel.command(`AUTH PLAIN ${base64(`\0${user}\0${pass}`)}`);
  else {
    serverReply = await channel.command(`AUTH ${mechanism}`);
    const responses =
      mechanism === "LOGIN"
        ? [() => user, () => pass]
        : [(challenge: string) => `${user} ${createHmac("md5", pass).update(challenge).digest("hex")}`];
    for (const respond of responses) {
      if (!serverReply.startsWith("334")) break;
      serverReply = await channel.command(base64(respond(Buffer.from(serverReply.slice(4), "base64").toString())));
    }
  }
  if (!isPositive(serverReply)) throw createRefusal("AUTH was refused", serverReply);
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

export const isPositive = (reply: string): boolean => reply.startsWith("2");

/** Creates an error for `sessionFailure`. */
const createRefusal = (message: string, response: string, code?: string) =>
  Object.assign(new Error(message), { response, ...(code !== undefined && { code }) });
