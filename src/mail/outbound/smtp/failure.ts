import type { SmtpReply } from "../../messages/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import type { TlsFailure } from "../types.ts";
import { clean, parseReply, reply } from "./replies.ts";
import { tlsFailureOf } from "./tls-failure.ts";

/**
 * A session with a host could not be opened, or failed. This does not concern the message itself; `reply` is temporary
 * unless the host declined all mail.
 */
export class SessionFailure extends Error {
  override readonly name = "SessionFailure";
  readonly reply: SmtpReply;
  /** True if TLS failed: an opportunistic policy may retry without TLS. */
  readonly tls: boolean;
  /** True for a local problem: the message could not be read, or the attempt was aborted. */
  readonly isLocal: boolean;
  /** True if the connection failed after the complete message: it may have arrived, so no other host is tried. */
  readonly afterMessage: boolean;
  /** For the TLS report of the domain; defined if `tls` is true. */
  readonly tlsFailure: TlsFailure | undefined;
  /** Our address on the connection, if there was one. */
  sendingIp: string | undefined;

  constructor(
    reply: SmtpReply,
    {
      tls = false,
      isLocal = false,
      afterMessage = false,
      tlsFailure,
      cause,
    }: { tls?: boolean; isLocal?: boolean; afterMessage?: boolean; tlsFailure?: TlsFailure; cause?: unknown } = {},
  ) {
    super(reply.text, { cause });
    this.reply = reply;
    this.tls = tls;
    this.isLocal = isLocal;
    this.afterMessage = afterMessage;
    this.tlsFailure = tls ? (tlsFailure ?? tlsFailureOf(cause)) : undefined;
  }
}

/**
 * Describes a failure before, between or after transactions, with RFC 3463 codes. `at` names the host; `inHandshake` is
 * true during the TLS handshake.
 */
export function sessionFailure(err: unknown, at: string, inHandshake = false): SessionFailure {
  if (err instanceof SessionFailure) return err;
  const { code, response, originalCode } = err as { code?: string; response?: string; originalCode?: string };
  const hostReply = typeof response === "string" ? parseReply(response) : undefined;
  if (hostReply !== undefined && hostReply.code >= 500 && code === "ETLS")
    return new SessionFailure(
      reply(
        451,
        "4.7.5",
        `${at}: TLS is required, but STARTTLS failed: ${hostReply.code} ${hostReply.enhanced} ${hostReply.text}`,
      ),
      { tls: true, cause: err },
    );
  if (hostReply !== undefined)
    return new SessionFailure(toHostReply(hostReply, at), { tls: code === "ETLS", cause: err });
  const why = clean(messageOf(err));
  if (code === "ETLS" || inHandshake)
    return new SessionFailure(reply(451, "4.7.5", `${at}: TLS failed: ${why}`), { tls: true, cause: err });
  if (["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EINVAL"].includes(originalCode ?? code ?? ""))
    return new SessionFailure(reply(451, "4.4.1", `${at}: ${why}`), { cause: err });
  return new SessionFailure(reply(451, "4.4.2", `${at}: ${why}`), { cause: err });
}

/**
 * A host that rejects the session has a problem with this server or with itself, so the message waits. Only 521 and 556
 * decline all mail permanently (RFC 7504). A rejected login is an error in the local configuration and must not cause
 * bounces either.
 */
function toHostReply(hostReply: SmtpReply, at: string): SmtpReply {
  if (hostReply.code === 521 || hostReply.code === 556) return hostReply;
  if (hostReply.code < 500 && hostReply.code >= 400) return hostReply;
  return reply(451, "4.4.0", `${at} answered: ${hostReply.code} ${hostReply.enhanced} ${hostReply.text}`);
}
