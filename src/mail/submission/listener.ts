import { hostname } from "node:os";
import { UserError, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import { networkOf } from "../../kernel/networks.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import {
  DEFAULT_SERVER_LIMITS,
  createRate,
  startSmtpServer,
  type ServerLimits,
  type SmtpListener,
  createReception,
  withLoggedErrors,
  type SmtpClient,
  type OnRejected,
} from "../inbound/index.ts";
import { smtpErrorOf, replyOf } from "../errors.ts";
import type { Spool, SmtpReply } from "../messages/index.ts";
import type { SubmissionPorts } from "./types.ts";

export interface SubmissionListenerOptions<Submitter> extends SubmissionPorts<Submitter> {
  host: string;
  /** 0 selects any free port. */
  port: number;
  fd?: number | undefined;
  /** The host name in the greeting. Default: the machine's. */
  name?: string;
  tls: Pick<TlsSource, "context">;
  /** Addresses and ranges of load balancers that send a PROXY header at the start of each connection. */
  proxies?: readonly string[];
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Called for messages that were rejected before `submit`. */
  onRejected?: OnRejected;
  limits?: Partial<SubmissionLimits>;
}

export interface SubmissionLimits extends ServerLimits {
  /** Maximum size of a message in octets; announced as SIZE (RFC 1870). Default 5242880. */
  messageBytes: number;
  /** Maximum number of recipients per message; further ones get 452 4.5.3. */
  recipients: number;
  /** Maximum number of invalid tokens in ten minutes from one IPv4 address or IPv6 /64. */
  failures: number;
}

const DEFAULT_SUBMISSION_LIMITS: SubmissionLimits = {
  ...DEFAULT_SERVER_LIMITS,
  connectionsPerNetwork: 50,
  commandMs: 5 * 60_000,
  dataMs: 300_000,
  authMs: 30_000,
  messageBytes: 5_242_880,
  recipients: 50,
  failures: 20,
};

const USERNAME = "api_token";

const SENDER_DENIED: SmtpReply = {
  code: 550,
  enhanced: "5.7.1",
  text: "Sender denied: the null sender is not allowed",
};
const TOO_MANY_FAILURES: SmtpReply = {
  code: 421,
  enhanced: "4.7.0",
  text: "Too many failed authentication attempts, try again later",
};
const UNKNOWN_CREDENTIALS: SmtpReply = {
  code: 535,
  enhanced: "5.7.8",
  text: `Authentication credentials invalid: the user must be ${USERNAME}, the password an API token that may send mail`,
};
/**
 * 421 closes the session. The client reconnects, and if its token is invalid it gets the reason when it authenticates.
 */
const AUTH_EXPIRED: SmtpReply = {
  code: 421,
  enhanced: "4.7.0",
  text: "Authentication is no longer valid: the API token was revoked, changed or has expired, closing connection",
};
const TEMPORARY_AUTH_FAILURE: SmtpReply = {
  code: 454,
  enhanced: "4.7.0",
  text: "Temporary authentication failure, try again later",
};

/** State of an authenticated session. */
interface User<Submitter> {
  /** Refreshed on each MAIL command. */
  submitter: Submitter;
  token: string;
}

/**
 * Listens for mail submission: TLS from the first byte, AUTH PLAIN and LOGIN. Rejects with UserError if the port is
 * unavailable.
 */
export async function createSubmissionListener<Submitter>(
  options: SubmissionListenerOptions<Submitter>,
): Promise<SmtpListener> {
  const { name = hostname(), authenticate, checkSender, submit, spool, clock, ids, log } = options;
  const limits = { ...DEFAULT_SUBMISSION_LIMITS, ...options.limits };
  const onRejected = withLoggedErrors(options.onRejected, log);
  const failureRate = createRate({ limit: limits.failures, perMs: 10 * 60_000, clock });

  const reception = createReception<User<Submitter>>({
    messageBytes: limits.messageBytes,
    spool,
    log,
    onRejected,
    // The message stays as the client wrote it: a Received field would disclose the author's IP address.
    begin: () => ({ id: ids.hex(), prefix: "" }),
    accept: (source, { envelope, client }) => submit(client.user!.submitter, envelope, source),
  });

  /** Treats a token that is not allowed from this address like an unknown one. */
  const authenticateSafely = (token: string, ip: string) =>
    authenticate(token, ip).catch((err: unknown) => {
      if (err instanceof UserError && err.entry.http < 500) return undefined;
      throw err;
    });

  async function login(
    username: string,
    token: string,
    ip: string,
  ): Promise<{ user: User<Submitter> } | { reply: SmtpReply }> {
    const network = networkOf(ip);
    if (failureRate.isExhausted(network)) return { reply: TOO_MANY_FAILURES };
    try {
      const submitter = username === USERNAME && token !== "" ? await authenticateSafely(token, ip) : undefined;
      if (submitter !== undefined) return { user: { submitter, token } };
    } catch (err) {
      log.error({ err, ip }, "submission: failed to check a token");
      return { reply: TEMPORARY_AUTH_FAILURE };
    }
    failureRate.consume(network);
    log.info({ ip }, "submission: authentication failed");
    return { reply: UNKNOWN_CREDENTIALS };
  }

  async function refusalOfSender(from: string, client: SmtpClient<User<Submitter>>): Promise<SmtpReply | undefined> {
    if (from === "") return SENDER_DENIED;
    try {
      const user = client.user!;
      const submitter = await authenticateSafely(user.token, client.ip);
      if (submitter === undefined) return AUTH_EXPIRED;
      user.submitter = submitter;
      return await checkSender?.(submitter, from, client.envelope());
    } catch (err) {
      if (!(err instanceof UserError)) log.error({ err, from }, "submission: failed to check a sender");
      return replyOf(smtpErrorOf(err));
    }
  }

  return startSmtpServer({
    ...options,
    name,
    limits,
    secure: true,
    otherPort: "`submission.port` 0 in the settings",
    // The hosted service announces only these extensions; any others would have to be supported all the way to the
    // recipient.
    extensions: { pipelining: false, smtputf8: false, dsn: false, chunking: false, auth: true },
    maxSize: limits.messageBytes,
    maxRecipients: limits.recipients,
    handlers: {
      onAuth: ({ username, password }, { ip }) => login(username, password, ip),
      async onMail(from, client) {
        const refusal = await refusalOfSender(from, client);
        if (refusal !== undefined) onRejected({ ...client.envelope(), from }, refusal, "mail");
        return refusal;
      },
      onData: reception,
    },
  });
}
