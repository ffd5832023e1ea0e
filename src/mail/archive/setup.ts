import type { Basics } from "../../kernel/basics.ts";
import { every } from "../../kernel/periodic.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import { createMessageArchive } from "./archive.ts";
import type { MessageArchive } from "./port.ts";

interface ArchiveSetupDeps {
  settings: Pick<Settings, "email">;
  store: Pick<Store, "objects" | "sweeps">;
}

const HOUR_MS = 3_600_000;
const GIB = 1024 ** 3;
const NAME = "mail archive: sweep";

/** Sets up the archive of received messages, swept every hour; undefined if `email.store_days` is 0. */
export function setUpArchive(
  { settings: { email }, store: { objects, sweeps } }: ArchiveSetupDeps,
  { clock, log, lifecycle }: Basics,
): MessageArchive | undefined {
  const archive = createMessageArchive({
    objects,
    clock,
    log,
    days: email.store_days,
    maxBytes: email.store_gb * GIB,
  });
  // Runs even if no messages are stored, because messages stored under earlier settings expire. Every process needs the
  // size that the sweep measures, in whichever process it ran.
  const sweeper = every(
    HOUR_MS,
    async () => {
      const size = await sweeps.run(NAME, HOUR_MS, async () => {
        await archive.sweep();
        return archive.storedBytes;
      });
      if (size !== undefined) archive.storedBytes = size;
    },
    { name: NAME, log },
  );
  void sweeper.run();
  lifecycle.onStop(NAME, () => sweeper.stop());
  return email.store_days === 0 ? undefined : archive;
}
