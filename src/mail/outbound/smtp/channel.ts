import type { Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { createReplyReader } from "../../../protocol/smtp/index.ts";

/** A connection to a server: commands out, replies in. Every pending promise rejects when the connection ends. */
export interface Channel {
  /** Sends a command and resolves with its reply. */
  command(line: string): Promise<string>;
  /** Sends pipelined commands (RFC 2920); `reply` returns their replies in order. */
  send(lines: readonly string[]): void;
  /** Resolves with the next reply; the greeting is the first one. */
  reply(): Promise<string>;
  /** Announces that mail data follows, whose reply may come before its end. */
  expectReply(): void;
  /**
   * Writes mail data. Resolves when more can be written, or when a reply or the end of the connection makes that
   * pointless.
   */
  write(pieces: readonly Uint8Array[]): Promise<void>;
  /** Milliseconds of silence after which the connection fails. */
  setSilence(ms: number): void;
  startTls(options: ConnectionOptions): Promise<void>;
  fail(err: Error): void;
  /** Returns the TLS socket; undefined on an unencrypted connection. */
  tlsSocket(): TLSSocket | undefined;
  /** True if the connection is open, and every command has its reply. */
  isReady(): boolean;
  hasFailed(): boolean;
}

const MAX_REPLY_BYTES = 64 * 1024;

export function createChannel(plainSocket: Socket): Channel {
  let socket: Socket = plainSocket;
  let secureSocket: TLSSocket | undefined;
  let reader = createReplyReader(MAX_REPLY_BYTES);
  const replies: string[] = [];
  /** Replies that the server owes, the greeting first. */
  let outstandingReplies = 1;
  let failure: Error | undefined;
  let pendingReply: PromiseWithResolvers<string> | undefined;
  /** Ends the wait of `write`. */
  let wake = () => {};

  function receive(octets: Buffer) {
    reader.push(octets);
    for (let reply = reader.read(); reply !== undefined; reply = reader.read()) {
      // For example, a 421 reply before the server closes an idle connection.
      if (outstandingReplies === 0) return fail(new Error(`the server sent an unexpected reply: ${reply}`));
      outstandingReplies--;
      if (pendingReply === undefined) replies.push(reply);
      else pendingReply.resolve(reply);
      pendingReply = undefined;
      wake();
    }
    if (reader.hasOverflowed()) fail(new Error("the server sent a reply that is too long"));
  }

  function fail(err: Error) {
    failure ??= err;
    pendingReply?.reject(failure);
    pendingReply = undefined;
    wake();
    socket.destroy();
  }

  const closed = () => fail(new Error("the connection was closed"));
  const onSilence = () =>
    fail(Object.assign(new Error(`the server was silent for ${socket.timeout ?? 0} ms`), { code: "ETIMEDOUT" }));

  function listen() {
    socket.on("data", receive).on("drain", () => wake());
    socket.on("error", fail).on("close", closed).on("timeout", onSilence);
  }

  function send(lines: readonly string[]) {
    outstandingReplies += lines.length;
    if (failure === undefined) socket.write(lines.map((line) => `${line}\r\n`).join(""));
  }

  function reply(): Promise<string> {
    const [next] = replies.splice(0, 1);
    if (next !== undefined) return Promise.resolve(next);
    if (failure !== undefined) return Promise.reject(failure);
    pendingReply = Promise.withResolvers();
    return pendingReply.promise;
  }

  async function startTls(options: ConnectionOptions) {
    // Octets after the reply to STARTTLS were not protected by TLS (RFC 3207 4.2, CVE-2011-0411).
    if (reader.bufferedOctets() > 0) throw new Error("the server sent data after its reply to STARTTLS");
    const idleTimeoutMs = socket.timeout ?? 0;
    plainSocket.off("data", receive).off("close", closed).off("timeout", onSilence).setTimeout(0);
    reader = createReplyReader(MAX_REPLY_BYTES);
    const upgradedSocket = connectTls({ ...options, socket: plainSocket });
    socket = upgradedSocket;
    listen();
    socket.setTimeout(idleTimeoutMs);
    await new Promise<void>((resolve) => {
      upgradedSocket.once("secureConnect", resolve).once("close", resolve);
    });
    if (failure !== undefined) throw failure;
    secureSocket = upgradedSocket;
  }

  listen();
  return {
    command(line) {
      send([line]);
      return reply();
    },
    send,
    reply,
    expectReply: () => void outstandingReplies++,
    async write(pieces) {
      if (failure !== undefined) return;
      socket.cork();
      for (const piece of pieces) socket.write(piece);
      socket.uncork();
      if (socket.writableNeedDrain) await new Promise<void>((resolve) => (wake = resolve));
    },
    setSilence: (ms) => void socket.setTimeout(ms),
    startTls,
    fail,
    tlsSocket: () => secureSocket,
    isReady: () => failure === undefined && outstandingReplies === 0,
    hasFailed: () => failure !== undefined,
  };
}
