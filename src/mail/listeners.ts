import type { Basics } from "../kernel/basics.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import type { Lookups } from "../zones/index.ts";
import {
  createBlockLists,
  createSmtpListener,
  meterSmtp,
  createRspamd,
  type SmtpListener,
  type OnRejected,
  type OnTranscript,
} from "./inbound/index.ts";
import type { Spool } from "./messages/index.ts";
import { smtpName } from "./names.ts";
import type { Receiver } from "./receive.ts";
import { createSubmissionListener, createSubmitters, type SubmittersDeps } from "./submission/index.ts";

export interface ListenersDeps extends SubmittersDeps {
  settings: Settings;
  receiver: Pick<Receiver, "receive" | "checkRecipient">;
  spool: Spool;
  /** Counts messages per client. Default: counts within this process. */
  rateLimits?: RateLimits;
  lookups: Pick<Lookups, "resolve">;
  metrics: Metrics;
  /** Called for each message that is rejected before it is received. */
  onRejected?: OnRejected;
  /** Called for each received message, after its outcome is known. */
  onTranscript?: OnTranscript;
  /** Milliseconds that a listener waits for messages in progress when it closes. */
  graceMs: number;
}

interface ListenOptions {
  tls: Pick<TlsSource, "context">;
  /** An inherited socket. Default: the listener opens its own. */
  fd?: number | undefined;
}

export interface Listeners {
  /** Listens for inbound mail. Rejects with UserError if the port is unavailable. */
  listen(options: ListenOptions): Promise<SmtpListener>;
  /** Listens for submission by users; undefined if `submission.enabled` is false. */
  listenForSubmission(options: ListenOptions): Promise<SmtpListener | undefined>;
}

/** Builds the SMTP listeners from the `smtp` and `submission` settings. */
export function createListeners(deps: ListenersDeps, { clock, ids, log }: Basics): Listeners {
  const {
    settings: { smtp, submission },
    receiver,
    spool,
    rateLimits,
    lookups,
    metrics,
    graceMs,
  } = deps;
  const meter = meterSmtp(metrics);
  const sharedOptions = { name: smtpName(smtp), proxies: smtp.proxies, spool, clock, ids, log };
  const limits = {
    connections: smtp.connections,
    connectionsPerNetwork: Math.min(smtp.connections, smtp.connections_per_address),
    closeMs: graceMs,
  };
  const onRefused =
    (listener: "smtp" | "submission"): OnRejected =>
    (envelope, reply, stage, transcript) => {
      meter.refused(listener, stage, reply);
      deps.onRejected?.(envelope, reply, stage, transcript);
    };

  return {
    async listen({ tls, fd }) {
      const listener = await createSmtpListener({
        ...sharedOptions,
        tls,
        host: smtp.host,
        port: smtp.port,
        fd,
        dsn: true,
        onRejected: onRefused("smtp"),
        onTranscript: deps.onTranscript,
        limits: { ...limits, messageBytes: spool.maxBytes, messagesPerMinute: smtp.messages_per_minute },
        receive: receiver.receive,
        checkRecipient: receiver.checkRecipient,
        ...(rateLimits?.isShared && { messageRate: sharedRate(rateLimits, smtp.messages_per_minute) }),
        ...(smtp.dnsbl.length > 0 && {
          blockLists: createBlockLists({ lists: smtp.dnsbl, resolver: lookups.resolve, clock, log }),
        }),
        ...(smtp.rspamd !== "" && { filter: createRspamd({ url: smtp.rspamd }) }),
      });
      meter.watch("smtp", listener);
      return listener;
    },
    async listenForSubmission({ tls, fd }) {
      if (!submission.enabled) return undefined;
      const listener = await createSubmissionListener({
        ...sharedOptions,
        tls,
        ...createSubmitters(deps),
        host: submission.host,
        port: submission.port,
        fd,
        limits,
        onRejected: onRefused("submission"),
      });
      meter.watch("submission", listener);
      return listener;
    },
  };
}

/** Limits messages per minute per network, across all processes. */
function sharedRate(rateLimits: RateLimits, limit: number) {
  const quota = rateLimits.quota("smtp.messages", { limit, perMs: 60_000 });
  return { consume: async (network: string) => (await quota.consume(network)) === 0 };
}
