import { hostname } from "node:os";
import type { SMTPServerSession } from "smtp-server";
import { UserError, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  DEFAULT_SERVER_LIMITS,
  createRate,
  startSmtpServer,
  type ServerLimits,
  type SmtpListener,
  answerWith,
  createSession,
  envelopeOf,
  safely,
  wireAddress,
  type IncomingData,
  type OnRefused,
} from "../inbound/index.ts";
import { refusalOf, replyOf } from "../errors.ts";
import type { Spool, SmtpReply } from "../messages/index.ts";
import type { SubmissionPorts } from "./types.ts";

export interface SubmissionListenerOptions<Submitter> extends SubmissionPorts<Submitter> {
  host: string;
  /** 0 selects any free port. */
  port: number;
  fd?: number | undefined;
  /** The name in the greeting. Default: the machine's. */
  name?: string;
  tls: Pick<TlsSource, "context">;
  /** Addresses and ranges of load balancers that begin each connection with a PROXY header. */
  proxies?: readonly string[];
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Called for messages that were rejected before `submit`. */
  onRefused?: OnRefused;
  limits?: Partial<SubmissionLimits>;
}

export interface SubmissionLimits extends ServerLimits {
  /** Maximum octets of a message; announced as SIZE (RFC 1870). Default 5242880. */
  messageBytes: number;
  /** Maximum recipients per message; beyond it 452 4.5.3. */
  recipients: number;
  /** Maximum invalid tokens in ten minutes from one IPv4 address or IPv6 /64. */
  failures: number;
}

export const DEFAULT_SUBMISSION_LIMITS: SubmissionLimits = {
  ...DEFAULT_SERVER_LIMITS,
  connectionsPerNetwork: 50,
  commandMs: 5 * 60_000,
  dataMs: 300_000,
  authMs: 30_000,
  messageBytes: 5_242_880,
  recipients: 50,
  failures: 20,
};

const USER = "api_token";

const DENIED: SmtpReply = {
  code: 550,
  enhanced: "5.7.1",
  text: "Sender denied: mail is sent from an address, not from the null sender",
};
const TOO_MANY_FAILURES: SmtpReply = {
  code: 421,
  enhanced: "4.7.0",
  text: "Too many failed attempts to authenticate, try again later",
};
const UNKNOWN: SmtpReply = {
  code: 535,
  enhanced: "5.7.8",
  text: `Authentication credentials invalid: the user is ${USER}, the password an API token that may send mail`,
};
/** 421 closes the session. The client reconnects, and a client with an invalid token gets the reason when it authenticates. */
const NO_LONGER: SmtpReply = {
  code: 421,
  enhanced: "4.7.0",
  text: "Authentication is no longer valid: the API token was revoked, changed or has expired, closing connection",
};
const NOT_NOW: SmtpReply = { code: 454, enhanced: "4.7.0", text: "Temporary authentication failure, try again later" };

/** State of an authenticated session. */
interface User<Submitter> {
  /** Refreshed at each MAIL command. */
  submitter: Submitter;
  token: string;
}

const userOf = <Submitter>(session: SMTPServerSession) => session.user as unknown as User<Submitter>;

/**
 * Listens for mail submission: TLS from the first octet, AUTH PLAIN and LOGIN. Rejects with UserError if the port is
 * unavailable.
 */
export async function createSubmissionListener<Submitter>(
  options: SubmissionListenerOptions<Submitter>,
): Promise<SmtpListener> {
  const { name = hostname(), authenticate, checkSender, submit, spool, clock, ids, log } = options;
  const limits = { ...DEFAULT_SUBMISSION_LIMITS, ...options.limits };
  const onRefused = safely(options.onRefused, log);
  const failures = createRate({ most: limits.failures, perMs: 10 * 60_000, clock });

  const session = createSession({
    messageBytes: limits.messageBytes,
    spool,
    log,
    onRefused,
    // The message is sent as the client wrote it, without a Received field, to protect the author's privacy.
    begin: () => ({ id: ids.hex(), prefix: "" }),
    take: (source, { envelope, session }) => submit(userOf<Submitter>(session).submitter, envelope, source),
  });

  /** Treats a token that is not allowed from this address like an unknown one. */
  const authenticated = (token: string, ip: string) =>
    authenticate(token, ip).catch((err: unknown) => {
      if (err instanceof UserError && err.entry.http < 500) return undefined;
      throw err;
    });

  async function login(
    username: string | undefined,
    token: string | undefined | null,
    ip: string,
  ): Promise<{ user: User<Submitter> } | { refusal: SmtpReply }> {
    const network = networkOf(ip);
    if (failures.spent(network)) return { refusal: TOO_MANY_FAILURES };
    try {
      const submitter = username === USER && token ? await authenticated(token, ip) : undefined;
      if (submitter !== undefined) return { user: { submitter, token: token! } };
    } catch (err) {
      log.error({ err, ip }, "submission: failed to check a token");
      return { refusal: NOT_NOW };
    }
    failures.take(network);
    log.info({ ip }, "submission: authentication failed");
    return { refusal: UNKNOWN };
  }

  async function refusalOfSender(from: string, session: SMTPServerSession): Promise<SmtpReply | undefined> {
    if (from === "") return DENIED;
    try {
      const user = userOf<Submitter>(session);
      const submitter = await authenticated(user.token, session.remoteAddress);
      if (submitter === undefined) return NO_LONGER;
      user.submitter = submitter;
      return await checkSender?.(submitter, from, envelopeOf(session));
    } catch (err) {
      if (!(err instanceof UserError)) log.error({ err, from }, "submission: failed to check a sender");
      return replyOf(refusalOf(err));
    }
  }

  return startSmtpServer({
    ...options,
    name,
    limits,
    secure: true,
    otherPort: "`submission.port` 0 in the settings",
    smtp: {
      size: limits.messageBytes,
      maxRecipients: limits.recipients,
      authMethods: ["PLAIN", "LOGIN"],
      authRequiredMessage: "5.7.0 Authentication required",
      // Offers the same extensions as the hosted service; others would have to work on the whole path.
      hidePIPELINING: true,
      hideSMTPUTF8: true,
      async onAuth({ username, password }, { remoteAddress }, done) {
        const found = await login(username, password, remoteAddress);
        if ("user" in found) done(null, { user: found.user });
        else answerWith(found.refusal, (err) => done(err));
      },
      async onMailFrom({ address }, session, done) {
        const from = wireAddress(address);
        const refusal = await refusalOfSender(from, session);
        if (refusal === undefined) return done();
        onRefused({ ...envelopeOf(session), from }, refusal, "mail");
        answerWith(refusal, done);
      },
      onData: (data, facts, done) => void session(data as IncomingData, facts).then((reply) => answerWith(reply, done)),
    },
  });
}
