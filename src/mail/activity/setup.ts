import type { Basics } from "../../kernel/basics.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Zones } from "../../zones/index.ts";
import type { OnRejected, OnTranscript } from "../inbound/index.ts";
import type { OutboundQueue } from "../outbound/index.ts";
import { publishEntries } from "./publish-entries.ts";
import { createActivity, type Activity } from "./activity.ts";
import { createSentMessages, type SentMessages } from "./sent-messages.ts";

interface ActivitySetupDeps {
  store: Pick<Store, "db" | "objects" | "events" | "sweeps">;
  settings: Pick<Settings, "email">;
  zones: Pick<Zones, "byName">;
  metrics: Metrics;
}

export interface ActivitySetup {
  activity: Activity;
  sentMessages: SentMessages;
  /** Sets the status of messages that a killed process left unfinished: runs now and every hour. */
  resolveInterrupted(queue: Pick<OutboundQueue, "ofInbound">): void;
  /** Logs a message that SMTP rejected before it was received. */
  recordRejection: OnRejected;
  /** Adds the SMTP session to the entries of a message. */
  recordTranscript: OnTranscript;
}

const HOUR_MS = 3_600_000;
/** Longer than a running process needs for any message. */
const INTERRUPTED_MS = HOUR_MS;
/** Days for which the content of sent messages is kept. */
const SENT_MESSAGE_DAYS = 7;
/** Maximum number of rejections logged per minute, so that a client that guesses recipients cannot fill the disk. */
const MAX_REJECTIONS = 600;

/** Sets up the message log, and the copies of sent mail. */
export function setUpActivity(
  { store: { db, objects, events, sweeps }, settings: { email }, zones, metrics }: ActivitySetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): ActivitySetup {
  const activity = createActivity({
    db,
    clock,
    log,
    days: email.log_days,
    async ownerOf(domain) {
      const zone = await zones.byName(domain, { enclosing: true });
      return zone && { account: zone.account, zone: zone.id };
    },
    onWritten: publishEntries(events),
  });
  lifecycle.onStop("log of messages", () => activity.close());
  const sentMessages = createSentMessages({ objects, clock, log, days: SENT_MESSAGE_DAYS });
  for (const [name, { sweep }] of [
    ["email log: sweep of entries", activity],
    ["email log: sweep of sent messages", sentMessages],
  ] as const) {
    const sweeper = sweeps.every(HOUR_MS, sweep, { name, log });
    void sweeper.run();
    lifecycle.onStop(name, () => sweeper.stop());
  }
  const lostSteps = metrics.gauge(
    "reelpost_mail_log_lost_steps",
    "Number of message steps dropped since the start because the activity log could not keep up",
  );
  // prom-client calls `collect` when metrics are scraped.
  Object.assign(lostSteps, { collect: () => lostSteps.set(activity.droppedSteps()) });

  let minute = { at: -Infinity, rejections: 0 };
  return {
    activity,
    sentMessages,
    resolveInterrupted(queue) {
      const settler = sweeps.every(HOUR_MS, () => activity.resolveInterrupted(queue, clock.now() - INTERRUPTED_MS), {
        name: "email log: setting the status of interrupted messages",
        log,
      });
      lifecycle.onStop("email log: interrupted messages", () => settler.stop());
      // With a shared database, another process may still be handling recent messages.
      if (!db.isShared)
        activity
          .resolveInterrupted(queue, clock.now())
          .catch((err: unknown) =>
            log.warn({ err }, "mail: failed to set the status of interrupted messages, will retry"),
          );
      else void settler.run();
    },
    recordTranscript({ id, to, transcript }) {
      activity.trace({ message: id, at: new Date(clock.now()), step: "session", detail: { to, transcript } });
    },
    recordRejection({ from, to, ip, helo }, reply, _stage, transcript) {
      const at = clock.now();
      if (at - minute.at >= 60_000) minute = { at, rejections: 0 };
      if (to.length === 0 || ++minute.rejections > MAX_REJECTIONS) return;
      activity.trace({
        message: ids.hex(),
        at: new Date(at),
        step: "rejected",
        detail: { from, to, ip, helo, ...reply, ...(transcript && { transcript }) },
      });
    },
  };
}
