import { Readable } from "node:stream";
import type { Socket } from "node:net";

/** Milliseconds. Defaults are the minimums of RFC 5321 4.5.3.2, except connecting, where the next address is worth more than patience. */
export interface SmtpTimeouts {
  /** TCP, for each address. */
  connectMs: number;
  /** The greeting, and as long again for TLS. */
  greetingMs: number;
  /** EHLO, MAIL, RCPT, DATA, RSET: without a sign from the peer. */
  commandMs: number;
  /** Between two pieces of the message that the peer takes. */
  blockMs: number;
  /** The answer to the message. */
  finalMs: number;
  /** A whole transaction, however lively: a peer that takes an octet a minute would never be done. */
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
 * The message as a stream that sets the socket's patience as it goes: the socket's own timer starts anew with whatever moves, so each phase
 * only has to say how long a silence may last.
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
  // A body that was never read is let go of all the same.
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
