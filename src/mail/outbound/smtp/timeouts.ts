/**
 * Milliseconds. Defaults are the minimums of RFC 5321 4.5.3.2, except for connecting, where trying the next address is
 * better than waiting.
 */
export interface SmtpTimeouts {
  /** TCP connect timeout, per address. */
  connectMs: number;
  /** Timeout for the greeting, and separately for TLS. */
  greetingMs: number;
  /** EHLO, MAIL, RCPT, DATA, RSET: maximum time without data from the peer. */
  commandMs: number;
  /** Maximum time between two chunks of the message being read by the peer. */
  blockMs: number;
  /** Timeout for the reply to the message. */
  finalMs: number;
  /** Timeout of a whole transaction, even while data flows: a peer that reads an octet a minute would never finish. */
  transactionMs: number;
}

const MINUTE_MS = 60_000;

export const DEFAULT_TIMEOUTS: SmtpTimeouts = {
  connectMs: 30_000,
  greetingMs: 5 * MINUTE_MS,
  commandMs: 5 * MINUTE_MS,
  blockMs: 3 * MINUTE_MS,
  finalMs: 10 * MINUTE_MS,
  transactionMs: 60 * MINUTE_MS,
};
