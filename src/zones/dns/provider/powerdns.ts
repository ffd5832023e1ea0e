import { messageOf } from "../../../kernel/index.ts";
import { createKeyedQueue } from "../../../kernel/keyed-queue.ts";
import {
  DnsSyntaxError,
  isRecordType,
  presentData,
  readData,
  type RecordType,
  splitWords,
} from "../../../protocol/dns/index.ts";
import { dataOf } from "../../records/content.ts";
import type { RecordZone } from "../../records/types.ts";
import {
  checkedChange,
  type CheckedChange,
  recordKey,
  providerRecord,
  rejectForeign,
  ttlSeconds,
  setKey,
} from "./change.ts";
import { dnsErrors } from "./errors.ts";
import type { DnsProvider, ProviderRecord, RecordSetName } from "./port.ts";

interface PowerDnsOptions {
  /** The base URL, such as `http://127.0.0.1:8081`. */
  url: string;
  apiKey: string;
  /** Default "localhost", the default server id of PowerDNS. */
  serverId?: string;
  fetch: typeof fetch;
}

/** RRset in the API: names end with a dot, content is in master file format. */
interface ApiSet {
  name: string;
  type: string;
  ttl: number;
  records: { content: string; disabled: boolean }[];
}

const TIMEOUT_MS = 15_000;
/** Maximum response size: old servers list the whole zone when a single set is requested. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * Records stored in PowerDNS, through its HTTP API. The API replaces whole sets unconditionally. Sets are read
 * immediately before they are replaced in a single request, but a change by another client in between is lost.
 */
export function createPowerDnsProvider({ url, apiKey, serverId = "localhost", fetch }: PowerDnsOptions): DnsProvider {
  const queue = createKeyedQueue();
  const zoneUrl = (zone: string) =>
    `${url.replace(/\/+$/, "")}/api/v1/servers/${encodeURIComponent(serverId)}/zones/${encodeURIComponent(`${zone}.`)}`;

  async function call(zone: string, search: string, init: RequestInit, signal?: AbortSignal): Promise<string> {
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    let status: number;
    let text: string;
    try {
      const response = await fetch(`${zoneUrl(zone)}${search}`, {
        ...init,
        headers: { "X-API-Key": apiKey, "Content-Type": "application/json", Accept: "application/json" },
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      status = response.status;
      text = await readBoundedText(response);
    } catch (err) {
      throw dnsErrors.unreachable({ server: url, reason: reasonOf(err) }, { cause: err });
    }
    if (status === 401 || status === 403)
      throw dnsErrors.badKey({ server: url, key: "of the API", reason: `status ${status}` });
    if (status === 404)
      throw dnsErrors.notServed({ server: url, zone, reason: errorIn(text) ?? "it does not have this zone" });
    if (status >= 400) throw dnsErrors.refused({ server: url, zone, reason: errorIn(text) ?? `status ${status}` });
    return text;
  }

  async function readSets(
    zone: RecordZone,
    sets: readonly RecordSetName[],
    signal?: AbortSignal,
  ): Promise<Map<string, ApiSet>> {
    const foundSets = new Map<string, ApiSet>();
    for (const name of new Set(sets.map((set) => set.name))) {
      const text = await call(
        zone.name,
        `?rrsets=true&rrset_name=${encodeURIComponent(`${name}.`)}`,
        { method: "GET" },
        signal,
      );
      for (const set of setsIn(text, url)) if (plainName(set.name) === name) foundSets.set(`${name} ${set.type}`, set);
    }
    return foundSets;
  }

  return {
    kind: "powerdns",
    async current(zone, sets, signal) {
      const existingSets = await readSets(zone, sets, signal);
      return sets.flatMap((set) =>
        recordsIn(existingSets.get(setKey(set)))
          .map(({ record }) => record)
          .filter((record) => record !== undefined),
      );
    },
    apply: (zone, change, signal) =>
      queue(zone.id, async () => {
        const checkedDnsChange = checkedChange(zone, change);
        const existingSets = await readSets(
          zone,
          [...checkedDnsChange.add, ...checkedDnsChange.remove, ...change.mustBeAbsent],
          signal,
        );
        rejectForeign(
          change.mustBeAbsent,
          [...existingSets.values()].flatMap((set) => recordsIn(set).flatMap(({ record }) => record ?? [])),
          checkedDnsChange,
        );
        rejectTaken(checkedDnsChange, existingSets);
        const rrsets = replacements(checkedDnsChange, existingSets);
        if (rrsets.length > 0) await call(zone.name, "", { method: "PATCH", body: JSON.stringify({ rrsets }) }, signal);
      }),
  };
}

/**
 * Returns each record of a set with its parsed form; undefined for disabled records and for those that cannot be
 * parsed. Both are left unchanged.
 */
function recordsIn(set: ApiSet | undefined): { raw: ApiSet["records"][number]; record: ProviderRecord | undefined }[] {
  return (set?.records ?? []).map((raw) => ({
    raw,
    record: raw.disabled ? undefined : readContent(set!, raw.content),
  }));
}

function readContent({ name, type, ttl }: ApiSet, content: string): ProviderRecord | undefined {
  if (!isRecordType(type)) return undefined;
  try {
    return providerRecord(plainName(name), type, readData(type, splitWords(content), { apex: "" }), ttl);
  } catch (err) {
    if (err instanceof DnsSyntaxError) return undefined;
    throw err;
  }
}

/**
 * Throws nameTaken if a CNAME would share its name with another record. PowerDNS also rejects this, but with its own
 * message.
 */
function rejectTaken({ add, remove }: CheckedChange, existingSets: Map<string, ApiSet>): void {
  const removedKeys = new Set(remove.map(recordKey));
  const names = new Set<string>();
  for (const { name, type } of add) {
    for (const set of existingSets.values()) {
      if (plainName(set.name) !== name || set.type === type || (set.type !== "CNAME" && type !== "CNAME")) continue;
      if (recordsIn(set).some(({ record }) => record === undefined || !removedKeys.has(recordKey(record))))
        names.add(name);
    }
  }
  if (names.size > 0) throw dnsErrors.nameTaken({ names: [...names].join(", ") });
}

/** Returns the complete sets that have changed. */
function replacements({ add, remove }: CheckedChange, existingSets: Map<string, ApiSet>): object[] {
  const removedKeys = new Set(remove.map(recordKey));
  return [...new Map([...add, ...remove].map((draft) => [setKey(draft), draft])).entries()].flatMap(
    ([key, { name, type }]) => {
      const before = existingSets.get(key);
      const keptRecords = recordsIn(before).filter(
        ({ record }) => record === undefined || !removedKeys.has(recordKey(record)),
      );
      const keptKeys = new Set(keptRecords.flatMap(({ record }) => (record === undefined ? [] : [recordKey(record)])));
      const addedDrafts = add.filter((draft) => setKey(draft) === key && !keptKeys.has(recordKey(draft)));
      if (addedDrafts.length === 0 && keptRecords.length === (before?.records.length ?? 0)) return [];
      const records = [
        ...keptRecords.map(({ raw }) => raw),
        ...addedDrafts.map((draft) => ({ content: toAbsolute(draft), disabled: false })),
      ];
      const ttl = before?.ttl ?? ttlSeconds(addedDrafts[0]!);
      return [
        {
          name: `${name}.`,
          type,
          ...(records.length === 0 ? { changetype: "DELETE", records: [] } : { changetype: "REPLACE", ttl, records }),
        },
      ];
    },
  );
}

const toAbsolute = (record: { type: RecordType; content: string; priority: number | null }) =>
  presentData(record.type, dataOf(record), { absolute: true });

const plainName = (name: string) => name.replace(/\.$/, "").toLowerCase();

function setsIn(text: string, server: string): ApiSet[] {
  try {
    const { rrsets } = JSON.parse(text) as { rrsets?: ApiSet[] };
    if (!Array.isArray(rrsets)) throw new Error("it has no rrsets");
    return rrsets;
  } catch (err) {
    throw dnsErrors.badReply({ server, reason: messageOf(err) }, { cause: err });
  }
}

function errorIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error.slice(0, 300) : undefined;
  } catch {
    return undefined;
  }
}

// fetch reports only "fetch failed"; the cause contains the reason.
const reasonOf = (err: unknown) => messageOf(err instanceof Error && err.cause !== undefined ? err.cause : err);

async function readBoundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error("the response is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
