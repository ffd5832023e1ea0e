import type { Readable } from "node:stream";
import type { SendEmailBinding } from "./scripts/script.ts";

/**
 * The interfaces through which workers use mail and video. Those two domains depend on this one and implement the
 * interfaces; src/server connects them.
 */
export interface SendEmailPort {
  /**
   * `to` is null if the code leaves the recipient to a binding with one `destination_address`. Throws UserError with
   * the documented message.
   */
  sendRaw(caller: SendEmailCaller, mail: { from: string; to: string | null; raw: Readable }): Promise<EmailSendResult>;
  sendBuilt(caller: SendEmailCaller, mail: MailBuilderFields): Promise<EmailSendResult>;
}

export interface SendEmailCaller {
  /** 32 hex digits; absent in `reelpost dev`, which has no accounts. */
  account?: string;
  script: string;
  binding: SendEmailBinding;
}

export interface EmailSendResult {
  /** With angle brackets. */
  messageId: string;
}

/** The message builder of send() and reply(), as received from the worker; not yet validated. */
export interface MailBuilderFields {
  from?: unknown;
  to?: unknown;
  cc?: unknown;
  bcc?: unknown;
  replyTo?: unknown;
  subject?: unknown;
  headers?: unknown;
  text?: unknown;
  html?: unknown;
  /**
   * Attachment content given as an ArrayBuffer or a view arrives as `{ base64: string }`; a string remains a string
   * (base64, as documented).
   */
  attachments?: unknown;
}

/** The videos of an account, for the `stream` binding. */
export interface StreamPort {
  /**
   * Runs one operation of the binding, named after the binding's methods ("video/details", "upload"), with its
   * unvalidated arguments. `bytes` is the stream passed by the caller. Resolves with the result of the binding's
   * promise; throws UserError.
   */
  call(caller: StreamCaller, operation: string, args: unknown[], bytes?: Readable): Promise<unknown>;
}

interface StreamCaller {
  /** 32 hex digits; absent in `reelpost dev`, which has no accounts. */
  account?: string;
  script: string;
}
