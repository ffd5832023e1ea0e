import type { DnsRecord } from "../../zones/index.ts";
import type { NeededRecord } from "./needed.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { includes, isSpf } from "../../protocol/spf/index.ts";
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

export interface Examined {
  problems: DnsProblem[];
  /** True if users can change some of the records created by the service. */
  unlocked: boolean;
}

/** Compares the records of a name with those that routing needs. */
export function examine(
  needed: readonly NeededRecord[],
  there: readonly DnsRecord[],
  { spfInclude, owner }: { spfInclude: string; owner: string },
): Examined {
  const problems = needed.flatMap((record) => {
    if (record.type === "MX")
      return there.some((other) => sameMx(other, record)) ? [] : [{ code: "mx.missing" as const, missing: record }];
    return isSpf(record.content) ? [] : dkimProblems(record, there);
  });
  const [mx, spf] = [needed.find(({ type }) => type === "MX"), needed.find(({ content }) => isSpf(content))];
  if (mx !== undefined)
    problems.push(
      ...foreignMx(mx.name, needed, there, owner).map((record) => ({
        code: "mx.foreign" as const,
        existing: shown(record),
      })),
    );
  if (spf !== undefined) problems.push(...spfProblems(spf, there, spfInclude));
  return { problems, unlocked: there.some(({ managedBy, locked }) => managedBy === owner && !locked) };
}

/**
 * Returns MX records of the name that point elsewhere. Locked records of `owner` pointed here when they were created:
 * they are out of date, not foreign.
 */
export const foreignMx = (
  name: string,
  needed: readonly NeededRecord[],
  there: readonly DnsRecord[],
  owner: string,
): DnsRecord[] =>
  there.filter(
    (record) =>
      record.type === "MX" &&
      record.name === name &&
      !isOutdated(record, owner) &&
      !needed.some(({ type, content }) => type === "MX" && content === record.content),
  );

/** True for a record that was created for this owner and never unlocked. */
export const isOutdated = ({ managedBy, locked }: DnsRecord, owner: string): boolean => managedBy === owner && locked;

export const spfOf = (name: string, there: readonly DnsRecord[]): DnsRecord[] =>
  there.filter((record) => record.type === "TXT" && record.name === name && isSpf(txtText(record.content)));

const sameMx = (record: DnsRecord, wanted: NeededRecord) =>
  record.type === "MX" &&
  record.name === wanted.name &&
  record.content === wanted.content &&
  record.priority === wanted.priority;

// RFC 7208 4.5: two records cause a permanent error (permerror).
function spfProblems(wanted: NeededRecord, there: readonly DnsRecord[], include: string): DnsProblem[] {
  const found = spfOf(wanted.name, there);
  if (found.length > 1) return found.map((record) => ({ code: "spf.multiple" as const, existing: shown(record) }));
  return found.length === 1 && includes(txtText(found[0]!.content), include)
    ? []
    : [{ code: "spf.missing", missing: wanted }];
}

// RFC 6376 3.6.2.2: the result is undefined with two records at one selector.
function dkimProblems(wanted: NeededRecord, there: readonly DnsRecord[]): DnsProblem[] {
  const found = there.filter(({ type, name }) => type === "TXT" && name === wanted.name);
  if (!found.some(({ content }) => txtText(content) === wanted.content))
    return [{ code: "dkim.missing", missing: wanted }];
  return found.length > 1 ? found.map((record) => ({ code: "dkim.conflict" as const, existing: shown(record) })) : [];
}

const shown = (record: DnsRecord): NeededRecord => ({
  type: record.type as "MX" | "TXT",
  name: record.name,
  content: record.type === "TXT" ? txtText(record.content) : record.content,
  ...(record.priority !== null && { priority: record.priority }),
  ttl: 1,
});

export function routingStatus(enabled: boolean, { problems, unlocked }: Examined): RoutingStatus {
  if (!enabled) return "unconfigured";
  if (problems.length > 0) return "misconfigured";
  return unlocked ? "unlocked" : "ready";
}
