import type { Verdict } from "../authenticate/index.ts";
import type { ParsedMessage, DsnRequest } from "../messages/index.ts";

/** A message that is being processed by a worker's handler. */
export interface LiveMail {
  /** Id of this dispatch: a message to two recipients is dispatched twice. */
  id: string;
  message: ParsedMessage;
  /** Envelope sender, and the one envelope recipient of this dispatch. */
  from: string;
  to: string;
  script: string;
  /** The DSN options the sender requested. */
  dsn?: DsnRequest | undefined;
  /** Undefined if senders are not authenticated. */
  verdict?: Verdict | undefined;
  /** Account of the worker, and the zone that received the mail. */
  account?: string | undefined;
  zone?: string | undefined;
}
