import type { SmtpReply } from "../../messages/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import type { TlsFailure } from "../types.ts";
import { clean, parseReply, reply } from "./replies.ts";
import { tlsFailureOf } from "./tls-failure.ts";

/** The session with a host could not be had, or broke. Says nothing about the message; `reply` is temporary unless the host declined all mail. */
export class SessionFailure extends Error {
  override readonly name = "SessionFailure";
  readonly reply: SmtpReply;
  /** TLS was what failed: a policy that can do without may try again. */
  readonly tls: boolean;
  /** The fault is here, not there: the message could not be read, or the attempt was broken off. */
  readonly ours: boolean;
  /** The message was out whole when the connection went: it may have arrived, so no other host is asked. */
  readonly afterMessage: boolean;
  /** For the TLS report of the domain; defined where `tls` is true. */
  readonly tlsFailure: TlsFailure | undefined;
  /** Our address on the connection, if one was made. */
  sendingIp: string | undefined;

  constructor(
    reply: SmtpReply,
    {
      tls = false,
      ours = false,
      afterMessage = false,
      tlsFailure,
      cause,
    }: { tls?: boolean; ours?: boolean; afterMessage?: boolean; tlsFailure?: TlsFailure; cause?: unknown } = {},
  ) {
    super(reply.text, { cause });
    this.reply = reply;
    this.tls = tls;
    this.ours = ours;
    this.afterMessage = afterMessage;
    this.tlsFailure = tls ? (tlsFailure ?? tlsFailureOf(cause)) : undefined;
  }
}

/** What went wrong before, between or after transactions, in the words of RFC 3463. `at` names the host, `inHandshake` that TLS was being set up. */
export function sessionFailure(err: unknown, at: string, inHandshake = false): SessionFailure {
  if (err instanceof SessionFailure) return err;
  const { code, response, originalCode } = err as { code?: string; response?: string; originalCode?: string };
  const said = typeof response === "string" ? parseReply(response) : undefined;
  if (said !== undefined && said.code >= 500 && code === "ETLS")
    return new SessionFailure(
      reply(
        451,
        "4.7.5",
        `${at}: TLS is wanted, and STARTTLS was answered: ${said.code} ${said.enhanced} ${said.text}`,
      ),
      { tls: true, cause: err },
    );
  if (said !== undefined) return new SessionFailure(fromHost(said, at), { tls: code === "ETLS", cause: err });
  const why = clean(messageOf(err));
  if (code === "ETLS" || inHandshake)
    return new SessionFailure(reply(451, "4.7.5", `${at}: TLS failed: ${why}`), { tls: true, cause: err });
  if (["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EINVAL"].includes(originalCode ?? code ?? ""))
    return new SessionFailure(reply(451, "4.4.1", `${at}: ${why}`), { cause: err });
  return new SessionFailure(reply(451, "4.4.2", `${at}: ${why}`), { cause: err });
}

/**
 * A host that turns the session away has judged us, or is ill; the message waits. Only 521 and 556 decline all mail for good (RFC 7504).
 * A refused login is a mistake in our configuration, and no reason to return mail either.
 */
function fromHost(said: SmtpReply, at: string): SmtpReply {
  if (said.code === 521 || said.code === 556) return said;
  if (said.code < 500 && said.code >= 400) return said;
  return reply(451, "4.4.0", `${at} answered: ${said.code} ${said.enhanced} ${said.text}`);
}
