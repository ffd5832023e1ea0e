import type { Clock } from "../../kernel/index.ts";
import type { BucketSettingsTable } from "./settings-table.ts";

/** A change on another machine is noticed after this time. */
const FRESH_MS = 5000;
const MAX_DOMAINS = 100_000;

/**
 * The enabled domains in memory, because the host of every request is looked up. Reads the table only when a request
 * arrives after `FRESH_MS`.
 */
export function createDomainIndex({
  table,
  clock,
}: {
  table: Pick<BucketSettingsTable, "enabledDomains">;
  clock: Clock;
}) {
  let domains = new Map<string, string>();
  let until = -Infinity;
  let reading: Promise<void> | undefined;
  let changes = 0;

  async function read(): Promise<void> {
    const before = changes;
    const rows = await table.enabledDomains(MAX_DOMAINS);
    domains = new Map(rows.map(({ domain, bucket }) => [domain, bucket]));
    // A change during the read may be missing.
    until = before === changes ? clock.now() + FRESH_MS : -Infinity;
  }

  return {
    find(host: string): string | undefined | Promise<string | undefined> {
      if (until > clock.now()) return domains.get(host);
      reading ??= read()
        // The database is unavailable: the request itself fails if it needs the database.
        .catch(() => void (until = clock.now() + FRESH_MS))
        .finally(() => (reading = undefined));
      return reading.then(() => domains.get(host));
    },
    changed() {
      changes++;
      until = -Infinity;
    },
  };
}
