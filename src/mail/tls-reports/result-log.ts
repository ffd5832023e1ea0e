import { createHash } from "node:crypto";
import { every } from "../../kernel/periodic.ts";
import type { Clock, Log } from "../../kernel/index.ts";
import { isLoopbackAddress, isNonPublicAddress } from "../../kernel/networks.ts";
import type { TlsResult } from "../outbound/index.ts";
import type { TlsResultRow, TlsResultsTable } from "./results-table.ts";
import type { TlsCount } from "./types.ts";

interface ResultLogDeps {
  table: Pick<TlsResultsTable, "add">;
  clock: Pick<Clock, "now">;
  log: Log;
  limits?: Partial<ResultLogLimits>;
}

export interface ResultLogLimits {
  /** Maximum number of domains per day. Sessions with further domains are not counted. */
  domains: number;
  /**
   * Maximum number of different results of a domain per day. Further ones are counted without host, addresses and
   * policy text.
   */
  perDomain: number;
  flushMs: number;
}

interface ResultLog {
  record(result: TlsResult): void;
  flush(): Promise<void>;
  /** Stores the counts held in memory and stops. */
  close(): Promise<void>;
}

export const DAY_MS = 86_400_000;
const LIMITS: ResultLogLimits = { domains: 10_000, perDomain: 100, flushMs: 10_000 };
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 300;

/**
 * Counts sessions in memory and adds them to the table in batches: a killed process loses the counts of the last few
 * seconds.
 */
export function createResultLog({ table, clock, log, limits: changes }: ResultLogDeps): ResultLog {
  const limits = { ...LIMITS, ...changes };
  let pending = new Map<string, TlsResultRow>();
  /** Rows of the current day, to limit the rows of each domain. */
  let seenDomains = { day: -1, domains: new Map<string, Set<string>>() };
  const repetition = every(limits.flushMs, write, { name: "tls-reports: storing counts", log });

  /** Returns the row to count in; undefined if the day is full. */
  function rowOf(result: TlsResult): Omit<TlsResultRow, "sessions"> | undefined {
    const { domain } = result;
    const day = Math.floor(clock.now() / DAY_MS);
    if (seenDomains.day !== day) seenDomains = { day, domains: new Map() };
    let keys = seenDomains.domains.get(domain);
    if (keys === undefined) {
      if (seenDomains.domains.size >= limits.domains) {
        if (seenDomains.domains.size === limits.domains)
          log.warn(
            { domains: limits.domains },
            "tls-reports: daily limit of domains reached, results of other domains discarded",
          );
        return undefined;
      }
      seenDomains.domains.set(domain, (keys = new Set()));
    }
    let detail = JSON.stringify(detailOf(result));
    let result_key = hashOf(detail);
    if (!keys.has(result_key) && keys.size >= limits.perDomain) {
      detail = JSON.stringify(shortDetailOf(result));
      result_key = hashOf(detail);
    } else keys.add(result_key);
    return { day, domain, result_key, detail };
  }

  function addRow(row: TlsResultRow) {
    const key = `${row.day} ${row.domain} ${row.result_key}`;
    const pendingRow = pending.get(key);
    if (pendingRow === undefined) pending.set(key, row);
    else pendingRow.sessions += row.sessions;
  }

  async function write() {
    if (pending.size === 0) return;
    const rows = [...pending.values()];
    pending = new Map();
    try {
      await table.add(rows);
    } catch (err) {
      for (const row of rows) addRow(row);
      throw err;
    }
  }

  return {
    record(result) {
      // An address literal has no DNS name to look up a report address for.
      if (result.domain.startsWith("[")) return;
      const row = rowOf(result);
      if (row !== undefined) addRow({ ...row, sessions: 1 });
    },
    flush: repetition.run,
    async close() {
      await repetition.run();
      await repetition.stop();
    },
  };
}

function detailOf({ policy, failure, mx, ip, sendingIp }: TlsResult): Omit<TlsCount, "sessions"> {
  const { type, lines, mx: hosts } = policy;
  return {
    policy: { type, lines: limitLines(lines), mx: limitLines(hosts) },
    ...(failure && {
      failure: {
        type: failure.type,
        ...(failure.reason !== undefined && { reason: failure.reason.slice(0, MAX_LINE_LENGTH) }),
        mx,
        ip,
        // Behind a NAT this is a private address, which should not be disclosed.
        ...(sendingIp !== undefined && isPublic(sendingIp) && { sendingIp }),
      },
    }),
  };
}

const shortDetailOf = ({ policy: { type }, failure }: TlsResult): Omit<TlsCount, "sessions"> => ({
  policy: { type, lines: [], mx: [] },
  ...(failure && { failure: { type: failure.type } }),
});

const isPublic = (ip: string) => !isNonPublicAddress(ip) && !isLoopbackAddress(ip);
const limitLines = (lines: readonly string[]) =>
  lines.slice(0, MAX_LINES).map((line) => line.slice(0, MAX_LINE_LENGTH));
const hashOf = (text: string) => createHash("sha256").update(text).digest("base64url");
