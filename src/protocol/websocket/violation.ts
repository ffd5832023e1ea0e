/** The peer has violated the protocol. The connection is closed with this status code (RFC 6455 7.4.1). */
export class WebSocketViolation extends Error {
  override readonly name = "WebSocketViolation";
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}

export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  /** Invalid UTF-8. */
  badData: 1007,
  tooBig: 1009,
  tryAgain: 1013,
} as const;

/**
 * Returns true for codes allowed in a Close frame: defined codes, and those reserved for libraries and applications
 * (RFC 6455 7.4).
 */
export const mayBeSent = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
