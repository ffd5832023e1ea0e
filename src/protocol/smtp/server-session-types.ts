import type { MailRequest, RecipientRequest } from "../dsn/index.ts";
import type { Reply } from "./reply.ts";
import type { BodyType } from "./parameters.ts";
import type { Credentials } from "./sasl.ts";

export interface ServerSessionOptions {
  /** Name of the server in the greeting. */
  name: string;
  /** IP address of the client. */
  ip: string;
  extensions: ServerExtensions;
  /** Octets of a message; announced as SIZE (RFC 1870). */
  maxSize: number;
  maxRecipients: number;
  /** Octets of a command line. */
  maxCommand: number;
  limits: SessionLimits;
  /** Protocol and cipher, with implicit TLS. */
  tls?: string | undefined;
}

/** 8BITMIME, ENHANCEDSTATUSCODES and SIZE are always announced. */
export interface ServerExtensions {
  pipelining: boolean;
  smtputf8: boolean;
  dsn: boolean;
  /** BDAT (RFC 3030). */
  chunking: boolean;
  starttls: boolean;
  /** AUTH, which is then required for mail. */
  auth: boolean;
}

export interface SessionLimits {
  /** Failed commands after which the session ends, until a message is accepted. */
  errors: number;
  /** Failed commands after which each further command is delayed. */
  patience: number;
  /** Commands without an accepted message; each further one counts as failed. */
  commands: number;
}

/** A mail transaction (RFC 5321 3.3). */
export interface Transaction {
  /** The sender; "" is the null sender. */
  from: string;
  smtputf8: boolean;
  body: BodyType;
  dsn: MailRequest;
  /** Accepted recipients, by address in lower case. */
  recipients: Map<string, { address: string; dsn: RecipientRequest }>;
}

/**
 * An event with "decision" in its comment stops the session until `decide` is called. The events between two commands belong together: a
 * driver may collect the replies and send them in one write.
 */
export type ServerEvent =
  | { type: "reply"; reply: Reply }
  /** The client made many errors: the driver waits before it calls `next` again. */
  | { type: "delay" }
  /** Decision: accept the sender of `transaction`. */
  | { type: "mail" }
  /** Decision: accept a recipient. */
  | { type: "recipient"; address: string }
  /** Decision: authenticate the client. */
  | { type: "credentials"; credentials: Credentials }
  /** A message begins. */
  | { type: "data" }
  /** Octets of the message. Their memory is the driver's. */
  | { type: "content"; content: Buffer }
  /** Decision: accept the message, which is complete. Content behind a bare line end or beyond the size limit was dropped. */
  | { type: "message"; stray: "CR" | "LF" | undefined; oversized: boolean }
  /** The message will not be completed. */
  | { type: "aborted" }
  /** The driver starts the TLS handshake, then calls `secured`. */
  | { type: "starttls" }
  /** The driver closes the connection after the last reply. */
  | { type: "close" };

export interface ServerSession {
  push(octets: Buffer): void;
  /** The next event; undefined until there is more input or a decision. */
  next(): ServerEvent | undefined;
  /** The decision that the last event asked for. Without a reply, or with a positive one, it is acceptance. */
  decide(reply?: Reply): void;
  /** TLS is established. `tls` is its protocol and cipher. */
  secured(tls: string): void;
  /** Ends the session with a reply, unless it has ended. */
  terminate(reply: Reply): void;
  /** The input that the session waits for; "nothing" for a decision, a handshake, or after the end. */
  readonly awaits: "command" | "data" | "nothing";
  /** A message has begun and its reply is not sent. */
  readonly receiving: boolean;
  /** Octets that wait to be processed. */
  readonly buffered: number;
  /** The argument of EHLO or HELO, in lower case. */
  readonly helo: string;
  readonly tls: string | undefined;
  /** For the Received field (RFC 3848, RFC 6531 4.3): "ESMTPS". */
  readonly protocol: string;
  readonly transaction: Transaction | undefined;
}
