import type { Readable } from "node:stream";
import type { SendEmailBinding } from "./scripts/script.ts";

/** What a worker may ask of the rest of the house. Implemented by the domains above, introduced in server/compose.ts. */
export interface SendEmailPort {
  /** `to` is null when the code leaves the recipient to a binding with one `destination_address`. Throws UserError with the documented text. */
  sendRaw(caller: SendEmailCaller, mail: { from: string; to: string | null; raw: Readable }): Promise<EmailSendResult>;
  sendBuilt(caller: SendEmailCaller, mail: BuiltMail): Promise<EmailSendResult>;
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

/** The message builder of send() and reply(), as it arrives from the worker: nothing in it is checked yet. */
export interface BuiltMail {
  from?: unknown;
  to?: unknown;
  cc?: unknown;
  bcc?: unknown;
  replyTo?: unknown;
  subject?: unknown;
  headers?: unknown;
  text?: unknown;
  html?: unknown;
  /** The content of an attachment that was an ArrayBuffer or a view arrives as `{ base64: string }`; a string stays a string (base64 by contract). */
  attachments?: unknown;
}

/** The videos of an account, for the `stream` binding. */
export interface StreamPort {
  /**
   * One operation of the binding, named as its methods are ("video/details", "upload"), with what it was called with: nothing of it is checked yet.
   * `bytes`: what a stream was given for. Resolves with what the binding's promise resolves with; throws UserError.
   */
  call(caller: StreamCaller, operation: string, args: unknown[], bytes?: Readable): Promise<unknown>;
}

export interface StreamCaller {
  /** 32 hex digits; absent in `reelpost dev`, which has no accounts. */
  account?: string;
  script: string;
}
