import type { SmtpReply } from "../../messages/index.ts";
import type { ParcelRecipient, Result } from "../types.ts";
import { outcomeOf, parseReply, reply, type Command } from "./replies.ts";

/** The replies of a host per recipient of one transaction. */
export type Answers = Pick<Result, "rcpt" | "outcome" | "reply">[];

/** Fields that nodemailer adds to the envelope, whatever the result. */
export interface Refusal {
  rejectedErrors?: { recipient?: string; response?: string }[] | undefined;
}

type End = { response: string } | { error: Error & { response?: string; command?: string; code?: string } };

/** The RCPT reply for rejected recipients, the reply to the message for the others. */
export function readAnswers(to: ParcelRecipient[], { rejectedErrors = [] }: Refusal, end: End): Answers {
  // With PIPELINING, recipients after a rejected sender were rejected as well, as out of sequence.
  const senderRefused = "error" in end && end.error.command === "MAIL FROM";
  const refused = new Map(senderRefused ? [] : rejectedErrors.map(({ recipient, response }) => [recipient, response]));
  const whole = "response" in end ? answer(end.response, "message") : ofError(end.error);
  return to.map(({ rcpt }) => ({ rcpt, ...(refused.has(rcpt) ? answer(refused.get(rcpt), "RCPT") : whole) }));
}

function ofError({
  response,
  command,
  code,
  message,
}: Extract<End, { error: unknown }>["error"]): Omit<Result, "rcpt"> {
  if (response === undefined) {
    // nodemailer's own envelope errors: addresses it cannot send.
    const permanent = code === "EENVELOPE";
    return {
      outcome: permanent ? "permanent" : "temporary",
      reply: reply(permanent ? 550 : 451, permanent ? "5.1.3" : "4.4.2", message),
    };
  }
  if (command === "DATA") return answer(response, code === "EMESSAGE" ? "message" : "DATA");
  return answer(response, command === "MAIL FROM" ? "MAIL" : "RCPT");
}

function answer(raw: string | undefined, command: Command): Omit<Result, "rcpt"> {
  const said: SmtpReply = parseReply(raw ?? "") ?? reply(451, "4.5.0", `an answer that is none: ${raw ?? ""}`);
  return { outcome: outcomeOf(said, command), reply: said };
}
