import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Spool, Trace } from "../messages/index.ts";
import type { Bounces } from "../bounces/index.ts";
import { createRetryQueue } from "./retry-queue.ts";
import type { RetryQueue } from "./types.ts";

interface RetryQueueSetupDeps {
  store: Pick<Store, "objects" | "jobs" | "sweeps">;
  settings: Pick<Settings, "outbound">;
  spool: Pick<Spool, "collect">;
  bounces: Pick<Bounces, "bounce">;
  trace: Trace;
}

/** Builds a retry queue with the intervals and lifetime of `outbound`. A process that receives mail starts it. */
export function setUpRetryQueue(
  { store: { objects, jobs, sweeps }, settings: { outbound }, spool, bounces, trace }: RetryQueueSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): RetryQueue {
  const limits = {
    backoffMs: outbound.retry_minutes.map((minutes) => minutes * 60_000),
    lifetimeMs: outbound.days * 24 * 60 * 60_000,
  };
  const retries = createRetryQueue({ objects, jobs, sweeps, spool, clock, ids, trace, log, bounces, limits });
  lifecycle.onStop("retry queue", () => retries.stop());
  return retries;
}
