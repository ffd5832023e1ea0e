import type { SmtpReply } from "../../messages/index.ts";
import type { ParcelRecipient, Result } from "../types.ts";
import { outcomeOf, parseReply, reply, type Command } from "./replies.ts";

/** What a host said about each recipient of one transaction. */
export type Answers = Pick<Result, "rcpt" | "outcome" | "reply">[];

/** What nodemailer leaves in the envelope it was given, whatever the end. */
export interface Refusal {
  rejectedErrors?: { recipient?: string; response?: string }[] | undefined;
}

type End = { response: string } | { error: Error & { response?: string; command?: string; code?: string } };

/** Each recipient's own answer where it was refused at RCPT, the answer to the whole message for the others. */
export function readAnswers(to: ParcelRecipient[], { rejectedErrors = [] }: Refusal, end: End): Answers {
  // With PIPELINING the recipients of a refused sender were refused as well, for being out of turn.
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
    // nodemailer's own objections to an envelope: addresses it cannot put on the wire.
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
