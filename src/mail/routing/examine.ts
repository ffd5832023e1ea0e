import type { DnsRecord } from "../../zones/index.ts";
import type { NeededRecord } from "./needed.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { hasInclude, isSpf } from "../../protocol/spf/index.ts";
import type { RoutingStatus } from "./types.ts";

interface DnsProblem {
  code:
    | "mx.missing"
    | "mx.foreign"
    | "spf.missing"
    | "spf.multiple"
    | "dkim.missing"
    | "dkim.conflict"
    | "dns.unresolved";
  missing?: NeededRecord;
  existing?: NeededRecord;
}

export interface ExaminedRecords {
  problems: DnsProblem[];
  /** True if users can change some of the records created by the service. */
  unlocked: boolean;
}

/** Compares the records of a name with those that routing needs. */
export function examineRecords(
  needed: readonly NeededRecord[],
  existingRecords: readonly DnsRecord[],
  { spfInclude, owner }: { spfInclude: string; owner: string },
): ExaminedRecords {
  const problems = needed.flatMap((record) => {
    if (record.type === "MX")
      return existingRecords.some((other) => isSameMx(other, record))
        ? []
        : [{ code: "mx.missing" as const, missing: record }];
    return isSpf(record.content) ? [] : dkimProblems(record, existingRecords);
  });
  const [mx, spf] = [needed.find(({ type }) => type === "MX"), needed.find(({ content }) => isSpf(content))];
  if (mx !== undefined)
    problems.push(
      ...foreignMx(mx.name, needed, existingRecords, owner).map((record) => ({
        code: "mx.foreign" as const,
        existing: toNeededRecord(record),
      })),
    );
  if (spf !== undefined) problems.push(...spfProblems(spf, existingRecords, spfInclude));
  return { problems, unlocked: existingRecords.some(({ managedBy, locked }) => managedBy === owner && !locked) };
}

/**
 * Returns MX records of the name that point elsewhere. Locked records of `owner` pointed here when they were created:
 * they are out of date, not foreign.
 */
export const foreignMx = (
  name: string,
  needed: readonly NeededRecord[],
  existingRecords: readonly DnsRecord[],
  owner: string,
): DnsRecord[] =>
  existingRecords.filter(
    (record) =>
      record.type === "MX" &&
      record.name === name &&
      !isOutdated(record, owner) &&
      !needed.some(({ type, content }) => type === "MX" && content === record.content),
  );

/** True for a record that was created for this owner and never unlocked. */
export const isOutdated = ({ managedBy, locked }: DnsRecord, owner: string): boolean => managedBy === owner && locked;

export const spfOf = (name: string, existingRecords: readonly DnsRecord[]): DnsRecord[] =>
  existingRecords.filter((record) => record.type === "TXT" && record.name === name && isSpf(txtText(record.content)));

const isSameMx = (record: DnsRecord, wantedRecord: NeededRecord) =>
  record.type === "MX" &&
  record.name === wantedRecord.name &&
  record.content === wantedRecord.content &&
  record.priority === wantedRecord.priority;

// RFC 7208 4.5: two records cause a permanent error (permerror).
function spfProblems(wantedRecord: NeededRecord, existingRecords: readonly DnsRecord[], include: string): DnsProblem[] {
  const spfRecords = spfOf(wantedRecord.name, existingRecords);
  if (spfRecords.length > 1)
    return spfRecords.map((record) => ({ code: "spf.multiple" as const, existing: toNeededRecord(record) }));
  return spfRecords.length === 1 && hasInclude(txtText(spfRecords[0]!.content), include)
    ? []
    : [{ code: "spf.missing", missing: wantedRecord }];
}

// RFC 6376 3.6.2.2: the result is undefined with two records at one selector.
function dkimProblems(wantedRecord: NeededRecord, existingRecords: readonly DnsRecord[]): DnsProblem[] {
  const spfRecords = existingRecords.filter(({ type, name }) => type === "TXT" && name === wantedRecord.name);
  if (!spfRecords.some(({ content }) => txtText(content) === wantedRecord.content))
    return [{ code: "dkim.missing", missing: wantedRecord }];
  return spfRecords.length > 1
    ? spfRecords.map((record) => ({ code: "dkim.conflict" as const, existing: toNeededRecord(record) }))
    : [];
}

const toNeededRecord = (record: DnsRecord): NeededRecord => ({
  type: record.type as "MX" | "TXT",
  name: record.name,
  content: record.type === "TXT" ? txtText(record.content) : record.content,
  ...(record.priority !== null && { priority: record.priority }),
  ttl: 1,
});

export function routingStatus(enabled: boolean, { problems, unlocked }: ExaminedRecords): RoutingStatus {
  if (!enabled) return "unconfigured";
  if (problems.length > 0) return "misconfigured";
  return unlocked ? "unlocked" : "ready";
}
