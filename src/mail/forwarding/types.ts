import type { HeaderField } from "../../protocol/rfc5322/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { Message, Envelope, MailSource, Outbound, DeliveryResult } from "../messages/index.ts";

/** One recipient's message on its way to other addresses. */
export interface ForwardRequest {
  envelope: Pick<Envelope, "from" | "dsn">;
  /** With our results of authentication on top. Stays the caller's. */
  source: MailSource;
  /** Without one no ARC set is added, and nobody vouches for the sender. */
  verdict?: Verdict | undefined;
  account?: string | undefined;
  /** The zone's id. */
  zone?: string | undefined;
  /** The recipient it came for. */
  rcpt: string;
  to: string[];
  /** Fields to go on top; the caller has checked them. */
  extra?: HeaderField[];
  /** The worker that asked for it. */
  script?: string | undefined;
  /** With angle brackets: what the worker is told. Default: a new one. */
  messageId?: string;
}

/** Mail that came in and goes on. */
export interface Forwarding {
  /**
   * Passes a message on with its body octet for octet: with an envelope sender of ours (SRS, or a token), our ARC set, and the signatures of
   * the forwarding domain and of the customer's. One result for each address of `to`, the next hop's own words where it refused. Rejects with
   * a UserError that has an SMTP answer, or a Fault.
   */
  forward(request: ForwardRequest): Promise<DeliveryResult[]>;
  /** Sends a worker's answer, signed by the domain it comes from, a name of `mail.zone`. Rejects as forward() does. */
  reply(mail: Outbound): Promise<DeliveryResult[]>;
  /** Whether this installation has forwarded the message for this recipient before, or for too many others: it goes round. */
  isLoop(message: Pick<Message, "fields">, rcpt: string): boolean;
}
