import type { Envelope, MailSource, SmtpReply } from "../messages/index.ts";

/** What stands behind the submission listener. `Submitter` is whatever `authenticate` finds. */
export interface SubmissionPorts<Submitter> {
  /** The caller of a token; undefined if the token is invalid or may not send mail. Called again for each message. A rejected promise is a temporary failure: 454. */
  authenticate(token: string, ip: string): Promise<Submitter | undefined>;
  /** Whether mail may come from this envelope sender; "" is the null sender. Undefined: it may. Without it `submit` has the first word. */
  checkSender?(submitter: Submitter, from: string, envelope: Envelope): Promise<SmtpReply | undefined>;
  /**
   * Takes a message, as the client wrote it, without a Received field. Resolves when it is safe (`250 2.0.0 Ok <message-id>`) or refused. A
   * rejection with a UserError that has an SMTP answer is that answer, anything else 451. The source is the port's from here on.
   */
  submit(submitter: Submitter, envelope: Envelope, source: MailSource): Promise<SmtpReply>;
}
