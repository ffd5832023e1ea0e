import type { HeaderField } from "../../protocol/rfc5322/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { ParsedMessage, Envelope, MailSource, Outbound, DeliveryResult } from "../messages/index.ts";

/** A message for one recipient, forwarded to other addresses. */
export interface ForwardRequest {
  envelope: Pick<Envelope, "from" | "dsn">;
  /** The message with the authentication results on top. The caller still owns it. */
  source: MailSource;
  /** If omitted, no ARC set is added, and the sender counts as unauthenticated. */
  verdict?: Verdict | undefined;
  account?: string | undefined;
  /** Id of the zone. */
  zone?: string | undefined;
  /** The original recipient. */
  rcpt: string;
  to: string[];
  /** Fields to add on top, validated by the caller. */
  extra?: HeaderField[];
  /** The worker that requested it. */
  script?: string | undefined;
  /** With angle brackets; returned to the worker. Default: a new one. */
  messageId?: string;
}

/** Forwards received mail and sends replies to it. */
export interface Forwarding {
  /**
   * Forwards a message with its body unchanged byte for byte, with a local envelope sender (SRS or token), an ARC set,
   * and the signatures of the forward domain and the customer's domain. Returns one result for each address in `to`,
   * with the next hop's reply if it rejected the message. Rejects with a UserError that has an SMTP reply, or a Fault.
   */
  forward(request: ForwardRequest): Promise<DeliveryResult[]>;
  /**
   * Sends a worker's reply, signed by its sender domain, a name in `mail.zone`. Rejects in the same cases as forward().
   */
  reply(mail: Outbound): Promise<DeliveryResult[]>;
  /**
   * True if this installation has forwarded the message for this recipient before, or for too many others: a mail loop.
   */
  isLoop(message: Pick<ParsedMessage, "fields">, rcpt: string): boolean;
}
