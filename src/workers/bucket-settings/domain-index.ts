import type { Clock } from "../../kernel/index.ts";
import type { DomainBucket } from "./port.ts";
import type { BucketSettingsTable } from "./settings-table.ts";

/** Maximum age of the index, and so the delay before changes by other processes become visible. */
const MAX_AGE_MS = 5000;
/** Maximum number of domains in memory. */
export const MAX_DOMAINS = 100_000;

/**
 * Keeps the enabled domains in memory, because the host of every request is looked up. Reads the table again when a
 * request arrives and the index is older than `MAX_AGE_MS`.
 */
export function createDomainIndex({
  table,
  clock,
}: {
  table: Pick<BucketSettingsTable, "enabledDomains">;
  clock: Clock;
}) {
  let domains = new Map<string, DomainBucket>();
  let freshUntil = -Infinity;
  let readInProgress: Promise<void> | undefined;
  let changeCount = 0;

  async function read(): Promise<void> {
    const changesBefore = changeCount;
    const rows = await table.enabledDomains(MAX_DOMAINS);
    domains = new Map(rows.map(({ domain, ...bucket }) => [domain, bucket]));
    // The rows may not include a change made during the read.
    freshUntil = changesBefore === changeCount ? clock.now() + MAX_AGE_MS : -Infinity;
  }

  return {
    find(host: string): DomainBucket | undefined | Promise<DomainBucket | undefined> {
      if (freshUntil > clock.now()) return domains.get(host);
      readInProgress ??= read()
        // While the database is unavailable, the old index is used. A request that needs the database fails on its own.
        .catch(() => void (freshUntil = clock.now() + MAX_AGE_MS))
        .finally(() => (readInProgress = undefined));
      return readInProgress.then(() => domains.get(host));
    },
    invalidate() {
      changeCount++;
      freshUntil = -Infinity;
    },
  };
}
