import type { DnsRecord, Zone, Zones } from "../../zones/index.ts";
import type { DkimRecord } from "../dkim-keys/index.ts";
import { isDmarc } from "../../protocol/dmarc/index.ts";
import {
  foreignMx,
  isOutdated,
  spfOf,
  recordOwner,
  dkimRecords,
  mxRecords,
  spfRecord,
  type NeededRecord,
} from "../routing/index.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { hasInclude } from "../../protocol/spf/index.ts";
import type { SendingProblem } from "./types.ts";

/** Hosts that the records of a sending name refer to, configured by the operator. */
export interface SendingHosts {
  /** Hosts that receive bounces. */
  mx: readonly { host: string; priority: number }[];
  /** The name of the SPF record that lists this server's sending addresses. */
  spfInclude: string;
  /** First label of the bounce subdomain, also used as the selector of the first DKIM key. */
  label: string;
  /** The DMARC record to create if a name has none; "" creates none. */
  dmarc: string;
  /** Also creates an Ed25519 key (RFC 8463) for each name. Default false. */
  dkimEd25519?: boolean;
}

/** Existing records of a name that affect sending. */
export interface ExistingRecords {
  /** The owner of the records created by this server. */
  owner: string;
  bounce: readonly DnsRecord[];
  dkim: readonly DnsRecord[];
  dmarc: readonly DnsRecord[];
  /** True if the user's DMARC record of the zone applies, which also covers names under the zone (RFC 7489 6.6.3). */
  inherited: boolean;
  /** True if the DKIM keys are in another server's zone. */
  delegated: boolean;
}

const isPolicy = ({ type, content }: DnsRecord) => type === "TXT" && isDmarc(txtText(content));

export async function findRecords(
  records: Zones["records"]["managed"],
  zone: Zone,
  name: string,
  keys: readonly DkimRecord[],
  { label }: SendingHosts,
): Promise<ExistingRecords> {
  const recordsAt = (host: string, ...types: string[]) => records.at(zone.id, host, types);
  const [bounce, dmarc, parentPolicy, delegation, ...dkim] = await Promise.all([
    recordsAt(`${label}.${name}`, "MX", "TXT"),
    recordsAt(`_dmarc.${name}`, "TXT"),
    name === zone.name ? [] : recordsAt(`_dmarc.${zone.name}`, "TXT"),
    recordsAt(`_domainkey.${name}`, "NS"),
    ...dkimRecords(name, keys).map((record) => recordsAt(record.name, "TXT")),
  ]);
  return {
    owner: recordOwner(zone, name, "email-sending"),
    bounce,
    dkim: dkim.flat(),
    dmarc: dmarc.filter(isPolicy),
    inherited: parentPolicy.some((record) => record.managedBy === null && isPolicy(record)),
    delegated: delegation.length > 0,
  };
}

export function neededSendingRecords(
  name: string,
  hosts: SendingHosts,
  keys: readonly DkimRecord[],
  { dmarc, inherited }: ExistingRecords,
): NeededRecord[] {
  const bounce = `${hosts.label}.${name}`;
  const records = [
    ...mxRecords(bounce, { ...hosts, dkimSelector: hosts.label }),
    spfRecord(bounce, { ...hosts, dkimSelector: hosts.label }),
    ...dkimRecords(name, keys),
  ];
  // A policy set by the user is as good as ours.
  const foreignPolicy = dmarc.find(({ managedBy }) => managedBy === null);
  if (foreignPolicy !== undefined) return [...records, toNeededRecord(foreignPolicy)];
  return hosts.dmarc === "" || inherited
    ? records
    : [...records, { type: "TXT", name: `_dmarc.${name}`, content: hosts.dmarc, ttl: 1 }];
}

export function compareSendingRecords(
  needed: readonly NeededRecord[],
  found: ExistingRecords,
  { spfInclude }: SendingHosts,
): SendingProblem[] {
  const problems: SendingProblem[] = [];
  const mx = needed.filter(({ type }) => type === "MX");
  const [spf] = needed.filter(({ type, name }) => type === "TXT" && name === mx[0]!.name);
  for (const record of mx)
    if (
      !found.bounce.some(
        (other) => other.type === "MX" && other.content === record.content && other.priority === record.priority,
      )
    )
      problems.push({ code: "mx.missing", missing: record });
  for (const record of foreignMx(mx[0]!.name, mx, found.bounce, found.owner))
    problems.push({ code: "mx.foreign", existing: toNeededRecord(record) });

  // RFC 7208 4.5: two records cause a permanent error.
  const spfRecords = spfOf(spf!.name, found.bounce);
  if (spfRecords.length > 1) problems.push({ code: "spf.multiple", multiple: spfRecords.map(toNeededRecord) });
  else if (spfRecords.length === 0) problems.push({ code: "spf.missing", missing: spf! });
  else if (!hasInclude(txtText(spfRecords[0]!.content), spfInclude))
    problems.push(
      isOutdated(spfRecords[0]!, found.owner)
        ? { code: "spf.missing", missing: spf! }
        : { code: "spf.foreign", existing: toNeededRecord(spfRecords[0]!), missing: spf! },
    );

  // RFC 6376 3.6.2.2: the result is undefined with two records at one selector.
  for (const record of needed.filter(({ name }) => name.includes("._domainkey."))) {
    const sameNameRecords = found.dkim.filter(({ name }) => name === record.name);
    if (sameNameRecords.length > 1)
      problems.push({ code: "dkim.conflict", multiple: sameNameRecords.map(toNeededRecord) });
    else if (sameNameRecords.length === 0 || txtText(sameNameRecords[0]!.content) !== record.content)
      problems.push({
        code: "dkim.missing",
        missing: record,
        ...(sameNameRecords[0] && { existing: toNeededRecord(sameNameRecords[0]) }),
      });
  }
  if (found.delegated) problems.push({ code: "domainkey.delegated" });

  const dmarc = needed.find(({ name }) => name.startsWith("_dmarc."));
  if (found.dmarc.length > 1) problems.push({ code: "dmarc.multiple", multiple: found.dmarc.map(toNeededRecord) });
  else if (dmarc !== undefined && found.dmarc.length === 0) problems.push({ code: "dmarc.missing", missing: dmarc });
  return problems;
}

/** Returns the problem to report for a record that a resolver did not find. */
export function unresolvedProblem(record: NeededRecord): SendingProblem {
  const code =
    record.type === "MX"
      ? "mx.missing"
      : record.name.startsWith("_dmarc.")
        ? "dmarc.missing"
        : record.name.includes("._domainkey.")
          ? "dkim.missing"
          : "spf.missing";
  return { code, missing: record };
}

const toNeededRecord = (record: DnsRecord): NeededRecord => ({
  type: record.type as "MX" | "TXT",
  name: record.name,
  content: record.type === "TXT" ? txtText(record.content) : record.content,
  ...(record.priority !== null && { priority: record.priority }),
  ttl: 1,
});
