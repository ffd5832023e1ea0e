import type { DsnAction } from "./report.ts";

/** Delivery status of the original message, extracted from a bounce. */
export interface Bounce {
  /**
   * "report": in RFC 3464 format. "guess": parsed from human-readable text; suitable for display, and with care for
   * counting hard failures.
   */
  kind: "report" | "guess";
  reportingMta?: string;
  /** ENVID of the original message. */
  envelopeId?: string;
  /** Message-ID of the original message, if any of it was returned. */
  messageId?: string;
  recipients: BouncedRecipient[];
}

export interface BouncedRecipient {
  address: string;
  /** Original-Recipient: the address the message was sent to, if different. */
  original?: string;
  action: DsnAction;
  /** RFC 3463 status; the last two numbers are 0 if only the class is known. */
  status: string;
  /** Reply text of the remote server. */
  diagnostic?: string;
  remoteMta?: string;
}
