import type { Verdict } from "../authenticate/index.ts";
import type { Message, DsnRequest } from "../messages/index.ts";

/** A message while a worker's handler has it. */
export interface LiveMail {
  /** Of this dispatch: a message to two recipients is handed over twice. */
  id: string;
  message: Message;
  /** Envelope sender and the one envelope recipient this dispatch is about. */
  from: string;
  to: string;
  script: string;
  /** What the sender wants to be told. */
  dsn?: DsnRequest | undefined;
  /** Undefined where nobody judges senders. */
  verdict?: Verdict | undefined;
  /** Whose worker it is, and the zone that mail came in for. */
  account?: string | undefined;
  zone?: string | undefined;
}
