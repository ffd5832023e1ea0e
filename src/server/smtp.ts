import type { AccountsRoom, Caller } from "../accounts/index.ts";
import { UserError } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import {
  createBlockLists,
  createRspamd,
  createSmtpListener,
  createSubmissionListener,
  type DsnRequest,
  type MailSource,
  type OnRefused,
  type Receiver,
  type SmtpListener,
  type SmtpReply,
  type Spool,
  type SubmissionPorts,
} from "../mail/index.ts";
import { domainOf } from "../protocol/rfc5322/index.ts";
import type { Lookups, Zone, Zones } from "../zones/index.ts";
import type { Basics } from "./compose.ts";
import { smtpName } from "./mail-names.ts";
import { meterSmtp } from "./meter-smtp.ts";

export interface ServeSmtpParts {
  settings: Settings;
  receiver: Pick<Receiver, "receive" | "checkRecipient">;
  spool: Spool;
  tls: Pick<TlsSource, "context">;
  lookups: Pick<Lookups, "resolve">;
  metrics: Metrics;
  /** Who may submit, and the way their mail leaves. */
  accounts: Pick<AccountsRoom, "authenticate">;
  zones: Pick<Zones, "byName">;
  sending: SmtpSending;
  /** Told of what is refused before it is a message, for the log of mail. */
  onRefused?: OnRefused;
  /** Milliseconds that a listener waits for messages under way when it closes. */
  graceMs: number;
}

/** What of the mail room's `Sending` is needed here. */
export interface SmtpSending {
  send(request: {
    account: string;
    via: "smtp";
    from: string;
    to: readonly string[];
    raw: MailSource;
    dsn?: DsnRequest;
  }): Promise<{
    messageId: string;
    delivered: string[];
    queued: string[];
    suppressed: string[];
    refusals: { rcpt: string; reply: SmtpReply }[];
  }>;
}

export interface ServeSmtp {
  /** For mail that comes in. `fd`: a socket that listens already. */
  listen(fd?: number): Promise<SmtpListener>;
  /** For mail to send; undefined where the settings say no. */
  listenForSubmission(fd?: number): Promise<SmtpListener | undefined>;
}

/** The SMTP servers, as the settings of `smtp` and `submission` have them. */
export function composeSmtp(parts: ServeSmtpParts, { clock, ids, log }: Basics): ServeSmtp {
  const {
    settings: { smtp, submission },
    receiver,
    spool,
    tls,
    lookups,
    metrics,
    graceMs,
  } = parts;
  const meter = meterSmtp(metrics);
  const shared = { name: smtpName(smtp), tls, proxies: smtp.proxies, spool, clock, ids, log };
  const limits = {
    connections: smtp.connections,
    connectionsPerNetwork: Math.min(smtp.connections, smtp.connections_per_address),
    closeMs: graceMs,
  };
  const onRefused =
    (listener: "smtp" | "submission"): OnRefused =>
    (envelope, reply, stage) => {
      meter.refused(listener, stage, reply);
      parts.onRefused?.(envelope, reply, stage);
    };

  return {
    async listen(fd) {
      const listener = await createSmtpListener({
        ...shared,
        host: smtp.host,
        port: smtp.port,
        fd,
        dsn: true,
        onRefused: onRefused("smtp"),
        limits: { ...limits, messageBytes: spool.maxBytes, messagesPerMinute: smtp.messages_per_minute },
        receive: receiver.receive,
        checkRecipient: receiver.checkRecipient,
        ...(smtp.dnsbl.length > 0 && {
          blockLists: createBlockLists({ lists: smtp.dnsbl, resolver: lookups.resolve, clock, log }),
        }),
        ...(smtp.rspamd !== "" && { filter: createRspamd({ url: smtp.rspamd }) }),
      });
      meter.watch("smtp", listener);
      return listener;
    },
    async listenForSubmission(fd) {
      if (!submission.enabled) return undefined;
      const listener = await createSubmissionListener({
        ...shared,
        ...submissionPorts(parts),
        host: submission.host,
        port: submission.port,
        fd,
        limits,
        onRefused: onRefused("submission"),
      });
      meter.watch("submission", listener);
      return listener;
    },
  };
}

/** Mail of a domain is sent by whoever may send for the account of its zone. */
export function submissionPorts({
  accounts,
  zones,
  sending,
}: Pick<ServeSmtpParts, "accounts" | "zones" | "sending">): SubmissionPorts<Caller> {
  async function zoneOf(caller: Caller, from: string): Promise<Zone | undefined> {
    const domain = domainOf(from).toLowerCase();
    const zone = domain === "" ? undefined : await zones.byName(domain, { enclosing: true });
    return zone !== undefined && caller.allows("Email Sending Write", { zone: zone.id, account: zone.account })
      ? zone
      : undefined;
  }

  return {
    async authenticate(token, ip) {
      const caller = await accounts.authenticate({ secret: token, ip });
      return caller !== undefined && caller.accounts.length > 0 ? caller : undefined;
    },
    checkSender: async (caller, from) => ((await zoneOf(caller, from)) === undefined ? senderDenied(from) : undefined),
    async submit(caller, { from, to, dsn }, raw) {
      try {
        const zone = await zoneOf(caller, from);
        if (zone === undefined) return senderDenied(from);
        const { messageId, delivered, queued, suppressed, refusals } = await sending.send({
          account: zone.account,
          via: "smtp",
          from,
          to,
          raw,
          ...(dsn && { dsn }),
        });
        const [refusal] = refusals;
        // Those who are suppressed are left out without a word, as on the hosted service.
        if (refusal !== undefined && delivered.length + queued.length + suppressed.length === 0) return refusal.reply;
        return { code: 250, enhanced: "2.0.0", text: `Ok ${messageId}` };
      } catch (err) {
        // What has no SMTP code of its own is wrong with the message, and will be wrong the next time.
        if (err instanceof UserError && err.entry.smtp === undefined && err.entry.http < 500)
          return { code: 554, enhanced: "5.6.0", text: err.message };
        throw err;
      } finally {
        await raw.discard();
      }
    },
  };
}

const senderDenied = (from: string): SmtpReply => ({
  code: 550,
  enhanced: "5.7.1",
  text: `Sender denied: this token may not send mail of ${domainOf(from) || from}`,
});
