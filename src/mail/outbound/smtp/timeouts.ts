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
