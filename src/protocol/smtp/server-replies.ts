import type { Reply } from "./reply.ts";
import type { SaslMechanism } from "./sasl.ts";
import type { ServerSessionOptions } from "./server-session-types.ts";

/** Replies of the server session. */

const reply = (code: number, enhanced: string | undefined, text: string): Reply => ({ code, enhanced, text });

export const OK = reply(250, "2.0.0", "OK");
export const FLUSHED = reply(250, "2.0.0", "Flushed");
export const BYE = reply(221, "2.0.0", "Bye");
export const HELP = reply(214, "2.0.0", "See https://tools.ietf.org/html/rfc5321 for details");
export const VRFY = reply(252, "2.1.5", "Try to send something. No promises though");
export const START_TLS = reply(220, "2.0.0", "Ready to start TLS");
export const START_DATA = reply(354, undefined, "End data with <CR><LF>.<CR><LF>");

export const LINE_TOO_LONG = reply(500, "5.5.2", "Error: command line too long");
export const BARE_LINE_END = reply(500, "5.5.2", "Error: bare CR or LF received, commands must end with CR LF");
export const UNKNOWN_COMMAND = reply(500, "5.5.2", "Error: command not recognized");
export const VRFY_SYNTAX = reply(501, "5.5.4", "Error: Syntax: VRFY address");
export const DATA_SYNTAX = reply(501, "5.5.4", "Error: syntax: DATA");
export const STARTTLS_SYNTAX = reply(501, "5.5.4", "Error: syntax: STARTTLS");
export const BDAT_SYNTAX = reply(501, "5.5.4", "Error: syntax: BDAT octets [LAST], closing connection");
export const HELO_NAME = reply(501, undefined, "Error: Bad hostname syntax");
export const SENDER_SYNTAX = reply(501, "5.1.7", "Error: Bad sender address syntax");
export const RECIPIENT_SYNTAX = reply(501, "5.1.3", "Error: Bad recipient address syntax");
export const AUTH_INVALID = reply(501, "5.5.2", "Error: invalid userdata");
export const AUTH_ABORTED = reply(501, "5.5.4", "Authentication aborted");
export const HELO_FIRST = reply(503, "5.5.1", "Error: send HELO/EHLO first");
export const NESTED_MAIL = reply(503, "5.5.1", "Error: nested MAIL command");
export const NEED_MAIL = reply(503, "5.5.1", "Error: need MAIL command");
export const NEED_RCPT = reply(503, "5.5.1", "Error: need RCPT command");
export const BDAT_STARTED = reply(503, "5.5.1", "Error: the message was started with BDAT");
export const TLS_ACTIVE = reply(503, "5.5.1", "Error: TLS already active");
export const ALREADY_AUTHENTICATED = reply(503, "5.5.1", "Error: No identity changes permitted");
export const UNKNOWN_MECHANISM = reply(504, "5.5.4", "Error: Unrecognized authentication type");
export const AUTH_REQUIRED = reply(530, "5.7.0", "Authentication required");
export const NOT_SYNCHRONIZED = reply(
  554,
  "5.5.0",
  "Error: SMTP protocol synchronization, wait for the reply to this command",
);
export const TOO_MANY_RECIPIENTS = reply(452, "4.5.3", "Error: too many recipients");
export const TOO_MANY_ERRORS = reply(421, "4.7.0", "Error: too many errors, closing connection");
export const TOO_MANY_UNKNOWN = reply(421, "4.7.0", "Error: too many unrecognized commands");
export const TOO_MANY_UNAUTHENTICATED = reply(421, "4.7.0", "Error: too many unauthenticated commands");
export const HTTP_NOT_ALLOWED = reply(421, "4.7.0", "HTTP requests not allowed");

/** Default replies to decisions that do not specify one. */
export const ACCEPTED = {
  mail: reply(250, "2.1.0", "Accepted"),
  recipient: reply(250, "2.1.5", "Accepted"),
  credentials: reply(235, "2.7.0", "Authentication successful"),
  message: reply(250, "2.6.0", "Message accepted"),
};

export const challenge = (text: string) => reply(334, undefined, text);
export const authSyntax = (mechanism: SaslMechanism) => reply(501, "5.5.4", `Error: syntax: AUTH ${mechanism}`);
export const heloSyntax = (verb: string) => reply(501, undefined, `Error: syntax: ${verb} hostname`);
export const octetsReceived = (octets: number) => reply(250, "2.0.0", `${octets} octets received`);

export const ehloReply = ({ name, ip }: ServerSessionOptions, keywords: string[]): Reply => ({
  code: 250,
  text: [`${name} greets [${ip}]`, ...keywords],
});

/** Returns the EHLO keywords. */
export function keywords(
  { extensions, maxSize }: ServerSessionOptions,
  { tls, authenticated }: { tls: boolean; authenticated: boolean },
): string[] {
  return [
    ...(extensions.pipelining ? ["PIPELINING"] : []),
    "8BITMIME",
    ...(extensions.smtputf8 ? ["SMTPUTF8"] : []),
    "ENHANCEDSTATUSCODES",
    ...(extensions.dsn ? ["DSN"] : []),
    ...(extensions.chunking ? ["CHUNKING"] : []),
    ...(extensions.auth && !authenticated ? ["AUTH PLAIN LOGIN"] : []),
    ...(extensions.starttls && !tls ? ["STARTTLS"] : []),
    `SIZE ${maxSize}`,
  ];
}
