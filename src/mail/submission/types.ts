import type { Envelope, MailSource, SmtpReply } from "../messages/index.ts";

/** Backend of the submission listener. `Submitter` is the type that `authenticate` returns. */
export interface SubmissionPorts<Submitter> {
  /**
   * Returns the caller of a token; undefined if the token is invalid or may not send mail. Called again for each
   * message. A rejected promise is a temporary failure: 454.
   */
  authenticate(token: string, ip: string): Promise<Submitter | undefined>;
  /**
   * Returns undefined if mail from this envelope sender is allowed, otherwise the rejection; "" is the null sender. If
   * omitted, only `submit` decides.
   */
  checkSender?(submitter: Submitter, from: string, envelope: Envelope): Promise<SmtpReply | undefined>;
  /**
   * Accepts a message as the client wrote it, without a Received field. Resolves when it is durable (`250 2.0.0 Ok
   * <message-id>`) or rejected. If it rejects with a UserError that has an SMTP reply, that reply is sent, otherwise
   * 451. The port takes ownership of the source.
   */
  submit(submitter: Submitter, envelope: Envelope, source: MailSource): Promise<SmtpReply>;
}
