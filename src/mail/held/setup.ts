import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Spool } from "../messages/spool.ts";
import type { Trace } from "../messages/types.ts";
import type { Bounces } from "../bounces/types.ts";
import { createHeld } from "./held.ts";
import type { Held } from "./types.ts";

export interface HeldSetupDeps {
  store: Pick<Store, "objects" | "jobs">;
  settings: Pick<Settings, "outbound">;
  spool: Pick<Spool, "collect">;
  bounces: Pick<Bounces, "bounce">;
  trace: Trace;
}

/** Retries with the intervals and lifetime of `outbound`. A process that receives mail starts it. */
export function setUpHeld(
  { store: { objects, jobs }, settings: { outbound }, spool, bounces, trace }: HeldSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): Held {
  const limits = {
    backoffMs: outbound.retry_minutes.map((minutes) => minutes * 60_000),
    lifetimeMs: outbound.days * 24 * 60 * 60_000,
  };
  const held = createHeld({ objects, jobs, spool, clock, ids, trace, log, bounces, limits });
  lifecycle.onStop("held mail", () => held.stop());
  return held;
}
