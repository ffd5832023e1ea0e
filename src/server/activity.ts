import { activityRoutes, emailDatasets, graphqlRoutes, queueRoutes, type Route } from "../api/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import {
  createActivity,
  createSentMessages,
  type Activity,
  type Envelope,
  type OutboundService,
  type SentMessages,
  type SmtpReply,
  type Trace,
} from "../mail/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { Platform } from "./platform.ts";

export interface ServeActivityParts {
  store: Store;
  settings: Settings;
  zones: Pick<Platform["zones"], "byName">;
  metrics?: Metrics;
}

export interface ServeActivity {
  activity: Activity;
  /** One of the listeners of traceTo(). */
  trace: Trace;
  /** Sets the status of messages that a killed process left unfinished: at start, then every hour. */
  settleInterrupted(queue: Pick<OutboundService, "ofInbound">): void;
  /** For SMTP: what was refused before it was a message. */
  refused(envelope: Envelope, reply: SmtpReply): void;
  /** Keeps what was sent; for createSending(). */
  keep: SentMessages["keep"];
  messages: SentMessages;
}

const HOUR = 3_600_000;
/** Longer than a running process handles any message. */
const INTERRUPTED_MS = HOUR;
const MESSAGE_DAYS = 7;
/** Refusals a minute that are logged: whoever tries names is not to fill the disk. */
const REFUSALS = 600;

/** The log of messages, and the copies of what was sent. To be made before the parts that trace. */
export function composeActivity(
  { store: { db, objects }, settings: { email }, zones, metrics }: ServeActivityParts,
  { clock, ids, log, lifecycle }: Basics,
): ServeActivity {
  const activity = createActivity({
    db,
    clock,
    log,
    days: email.log_days,
    async ownerOf(domain) {
      const zone = await zones.byName(domain, { enclosing: true });
      return zone && { account: zone.account, zone: zone.id };
    },
  });
  lifecycle.onStop("log of messages", () => activity.close());
  const messages = createSentMessages({ objects, clock, log, days: MESSAGE_DAYS });
  const sweep = () => {
    for (const room of [activity, messages])
      room
        .sweep()
        .catch((err: unknown) =>
          log.warn({ err }, "old entries of the log of messages could not be deleted; it is tried again"),
        );
  };
  sweep();
  const sweeper = setInterval(sweep, HOUR).unref();
  lifecycle.onStop("log of messages: sweeps", () => clearInterval(sweeper));
  const lost = metrics?.gauge(
    "reelpost_mail_log_lost_steps",
    "Steps of messages that the log could not keep up with, since the start",
  );
  // prom-client asks whoever has such a property.
  if (lost !== undefined) Object.assign(lost, { collect: () => lost.set(activity.lost()) });

  let minute = { at: -Infinity, refusals: 0 };
  return {
    activity,
    messages,
    trace: activity.trace,
    keep: messages.keep,
    settleInterrupted(queue) {
      const settle = (before: number) =>
        void activity
          .settleInterrupted(queue, before)
          .catch((err: unknown) =>
            log.warn({ err }, "email log: failed to set the status of interrupted messages, will retry"),
          );
      // With a shared database, another process may still be handling recent messages.
      settle(clock.now() - (db.dialect === "sqlite" ? 0 : INTERRUPTED_MS));
      const timer = setInterval(() => settle(clock.now() - INTERRUPTED_MS), HOUR).unref();
      lifecycle.onStop("email log: interrupted messages", () => clearInterval(timer));
    },
    refused({ from, to, ip, helo }, reply) {
      const at = clock.now();
      if (at - minute.at >= 60_000) minute = { at, refusals: 0 };
      if (to.length === 0 || ++minute.refusals > REFUSALS) return;
      activity.trace({
        message: ids.hex(),
        at: new Date(at),
        step: "rejected",
        detail: { from, to, ip, helo, ...reply },
      });
    },
  };
}

export interface ActivityRouteParts extends Pick<ServeActivity, "activity" | "messages"> {
  platform: Pick<Platform, "zones" | "defaultAccount">;
  queue: Pick<OutboundService, "list" | "get" | "resend" | "cancel">;
  settings: Settings;
}

/** The operations of the log, of the queue, and GraphQL with what is in the log. */
export function activityApi({
  activity,
  messages,
  platform: { zones, defaultAccount },
  queue,
  settings: { email },
}: ActivityRouteParts): Route[] {
  const operator = async () => (await defaultAccount())?.id;
  return [
    ...activityRoutes({ activity, messages, messageDays: MESSAGE_DAYS, zoneAccount: zones.zoneAccount, operator }),
    ...queueRoutes({ queue, operator }),
    ...graphqlRoutes({
      datasets: { zones: emailDatasets({ activity, days: email.log_days }) },
      zoneAccount: zones.zoneAccount,
    }),
  ];
}
