import type { MailRequest, RecipientRequest } from "../dsn/index.ts";
import type { Reply } from "./reply.ts";
import type { BodyType } from "./parameters.ts";
import type { SaslCredentials } from "./sasl.ts";

export interface ServerSessionOptions {
  /** Name of the server in the greeting. */
  name: string;
  /** IP address of the client. */
  ip: string;
  extensions: ServerExtensions;
  /** Maximum message size in octets, announced as SIZE (RFC 1870). */
  maxSize: number;
  maxRecipients: number;
  /** Maximum length of a command line in octets. */
  maxCommand: number;
  limits: SmtpSessionLimits;
  /** TLS version and cipher, if the connection uses implicit TLS. */
  tls?: string | undefined;
  /** Called with each command line; the line is empty if it is a response to AUTH, which contains a secret. */
  onLine?: ((line: string) => void) | undefined;
}

/** 8BITMIME, ENHANCEDSTATUSCODES and SIZE are always announced. */
export interface ServerExtensions {
  pipelining: boolean;
  smtputf8: boolean;
  dsn: boolean;
  /** BDAT is supported (RFC 3030). */
  chunking: boolean;
  starttls: boolean;
  /** AUTH is supported, and required before mail is accepted. */
  auth: boolean;
}

export interface SmtpSessionLimits {
  /** Number of failed commands after which the session ends; accepting a message resets it. */
  errors: number;
  /** Number of failed commands after which each further command is delayed. */
  errorsBeforeDelay: number;
  /** Number of commands without an accepted message; each further command counts as failed. */
  commands: number;
}

/** A mail transaction (RFC 5321 3.3). */
export interface Transaction {
  /** The sender; "" for the null sender. */
  from: string;
  smtputf8: boolean;
  body: BodyType;
  dsn: MailRequest;
  /** Accepted recipients, keyed by their address in lower case. */
  recipients: Map<string, { address: string; dsn: RecipientRequest }>;
}

/**
 * An event whose comment begins with "Decision" pauses the session until `decide` is called. Events between two
 * commands belong together: a driver may collect the replies and send them in one write.
 */
export type SmtpServerEvent =
  | { type: "reply"; reply: Reply }
  /** The client has made many errors: the driver waits before it calls `next` again. */
  | { type: "delay" }
  /** Decision: accept the sender in `transaction`. */
  | { type: "mail" }
  /** Decision: accept a recipient. */
  | { type: "recipient"; address: string }
  /** Decision: authenticate the client. */
  | { type: "credentials"; credentials: SaslCredentials }
  /** A message begins. */
  | { type: "data" }
  /** Content of the message. Its memory belongs to the driver. */
  | { type: "content"; content: Buffer }
  /**
   * Decision: accept the complete message. Content after a bare CR or LF, or beyond the size limit has been dropped.
   */
  | { type: "message"; stray: "CR" | "LF" | undefined; oversized: boolean }
  /** The message will not be completed. */
  | { type: "aborted" }
  /** The driver starts the TLS handshake, then calls `tlsEstablished`. */
  | { type: "starttls" }
  /** The driver closes the connection after the last reply. */
  | { type: "close" };

export interface ServerSession {
  push(octets: Buffer): void;
  /** Returns the next event; undefined until there is more input or a decision. */
  next(): SmtpServerEvent | undefined;
  /** Passes the decision that the last event requested. No reply, or a positive one, means acceptance. */
  decide(reply?: Reply): void;
  /** Called when TLS is established. `tls` is its protocol and cipher. */
  tlsEstablished(tls: string): void;
  /** Ends the session with a reply, unless it has already ended. */
  terminate(reply: Reply): void;
  /**
   * Kind of input that the session is waiting for; "nothing" while it waits for a decision or handshake, or after it
   * has ended.
   */
  awaitedInput(): "command" | "data" | "nothing";
  /** True if a message has begun and the reply to it has not been sent. */
  isReceiving(): boolean;
  /** Returns the number of octets waiting to be processed. */
  bufferedOctets(): number;
  /** Returns the argument of EHLO or HELO, in lower case. */
  heloName(): string;
  tlsCipher(): string | undefined;
  /** Returns the protocol for the Received field (RFC 3848, RFC 6531 4.3), for example "ESMTPS". */
  protocolName(): string;
  currentTransaction(): Transaction | undefined;
}
