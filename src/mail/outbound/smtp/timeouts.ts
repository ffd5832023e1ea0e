import { Readable } from "node:stream";
import type { Socket } from "node:net";

/**
 * Milliseconds. Defaults are the minimums of RFC 5321 4.5.3.2, except for connecting, where trying the next address is
 * better than waiting.
 */
export interface SmtpTimeouts {
  /** TCP connect, per address. */
  connectMs: number;
  /** The greeting; the same again for TLS. */
  greetingMs: number;
  /** EHLO, MAIL, RCPT, DATA, RSET: maximum silence of the peer. */
  commandMs: number;
  /** Maximum time between two chunks of the message that the peer reads. */
  blockMs: number;
  /** The reply to the message. */
  finalMs: number;
  /** A whole transaction, however active: a peer that reads an octet a minute would never finish. */
  transactionMs: number;
}

const MINUTE = 60_000;

export const DEFAULT_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 5 * MINUTE,
  commandMs: 5 * MINUTE,
  blockMs: 3 * MINUTE,
  finalMs: 10 * MINUTE,
  transactionMs: 60 * MINUTE,
};

const PIECE = 64 * 1024;

/**
 * The message as a stream that adjusts the socket timeout as it is read: the socket's timer restarts with any activity,
 * so each phase only sets the maximum silence.
 */
export function tellingTimes(
  body: Readable | Uint8Array,
  socket: () => Socket | undefined,
  { blockMs, finalMs }: SmtpTimeouts,
) {
  const state = { started: false, finished: false, error: undefined as unknown };

  async function* pieces() {
    state.started = true;
    socket()?.setTimeout(blockMs);
    try {
      if (body instanceof Uint8Array)
        for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
      else yield* body as AsyncIterable<Uint8Array>;
    } catch (err) {
      state.error = err;
      throw err;
    }
    state.finished = true;
    socket()?.setTimeout(finalMs);
  }

  const stream = Readable.from(pieces(), { objectMode: false });
  // Releases the body even if it was never read.
  stream.once("close", () => void (body instanceof Readable && body.destroy()));
  stream.on("error", () => {});
  return {
    stream,
    get started() {
      return state.started;
    },
    get finished() {
      return state.finished;
    },
    get error() {
      return state.error;
    },
  };
}
