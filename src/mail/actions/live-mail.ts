import type { Message } from "../messages/message.ts";

/** A message while a worker's handler has it. */
export interface LiveMail {
  /** Of this dispatch: a message to two recipients is handed over twice. */
  id: string;
  message: Message;
  /** Envelope sender and the one envelope recipient this dispatch is about. */
  from: string;
  to: string;
  script: string;
}
