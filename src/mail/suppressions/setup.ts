import type { Basics } from "../../kernel/basics.ts";
import type { Store } from "../../store/index.ts";
import type { BounceList } from "../bounces/index.ts";
import { createSuppressions } from "./suppressions.ts";
import type { Suppressions } from "./types.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;
/** Maximum number of batches per sweep. The next sweep deletes the rest. */
const MAX_BATCHES = 20;

/** Sets up the suppression lists of all accounts. Bounces add to them, and sending reads them. */
export function setUpSuppressions(
  { db, sweeps }: Pick<Store, "db" | "sweeps">,
  { clock, ids, log, lifecycle }: Basics,
): Suppressions & BounceList {
  const suppressions = createSuppressions({ db, clock, ids });
  async function sweep() {
    for (let batch = 0; batch < MAX_BATCHES && (await suppressions.sweep()) > 0; batch++) continue;
  }
  const sweeper = sweeps.every(SWEEP_INTERVAL_MS, sweep, { name: "suppressions: sweep", log });
  lifecycle.onStop("suppressions", () => sweeper.stop());
  return suppressions;
}
