import {
  isRecordType,
  presentData,
  readZoneFile,
  soaLine,
  zoneFileLine,
  type ZoneFileRecord,
} from "../../protocol/dns/index.ts";
import { UserError } from "../../kernel/index.ts";
import { zoneErrors } from "../errors.ts";
import type { Zone } from "../types.ts";
import { checkRecord } from "./check.ts";
import { dataOf, isProxiable } from "./content.ts";
import { AUTO_TTL, MAX_TTL, MIN_TTL, type DnsRecord, type RecordDraft } from "./types.ts";

const MARK = "cf_tags=";

/** Returns the beginning of an exported zone: its SOA and NS records, which an import skips. */
export const zoneFileHeader = ({ name, nameServers, serial }: Zone): string =>
  `;; Domain: ${name}.\n$ORIGIN ${name}.\n\n` +
  (nameServers.length === 0
    ? ""
    : soaLine(name, { nameServer: nameServers[0]!, serial }) +
      nameServers.map((target) => zoneFileLine({ name, ttl: MAX_TTL, type: "NS", data: { target } })).join("") +
      "\n");

/**
 * Returns a record as a line. Properties that DNS does not have are in its comment: `remark
 * cf_tags=cf-proxied:true,team:dns`.
 */
export const recordLine = (record: DnsRecord): string =>
  zoneFileLine({
    name: record.name,
    ttl: record.ttl,
    type: record.type,
    data: dataOf(record),
    comment: remarkOf(record),
  });

function remarkOf({ type, proxied, comment, tags }: DnsRecord): string {
  const marks = [...(isProxiable(type) ? [`cf-proxied:${proxied}`] : []), ...tags].map(encode);
  return [comment ?? "", ...(marks.length > 0 || comment?.includes(MARK) === true ? [MARK + marks.join(",")] : [])]
    .join(" ")
    .trim();
}

const encode = (tag: string) => tag.replace(/[%,]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const decode = (tag: string) =>
  tag.replace(/%(25|2C)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function marksOf(remark: string): { comment: string; tags: string[]; proxied: boolean | undefined } {
  const markIndex = remark.lastIndexOf(MARK);
  if (markIndex === -1) return { comment: remark, tags: [], proxied: undefined };
  const marks = remark
    .slice(markIndex + MARK.length)
    .split(",")
    .map((mark) => decode(mark.trim()))
    .filter((mark) => mark !== "");
  const proxied = marks.find((mark) => mark.startsWith("cf-proxied:"));
  return {
    comment: remark.slice(0, markIndex).trim(),
    tags: marks.filter((mark) => !mark.startsWith("cf-")),
    proxied: proxied === undefined ? undefined : proxied === "cf-proxied:true",
  };
}

interface ImportedRecord {
  drafts: RecordDraft[];
  /** Number of records in the file, excluding SOA and the zone's own name servers. */
  parsed: number;
}

/** Reads the records from a zone file for this zone. Throws badImport with the invalid lines. */
export function readImport(
  text: string,
  zone: Zone,
  { proxied = false, maxRecords }: { proxied?: boolean; maxRecords: number },
): ImportedRecord {
  const { records, problems } = readZoneFile(text, { origin: zone.name, maxRecords });
  const drafts: RecordDraft[] = [];
  for (const record of records) {
    if (isOwn(record, zone)) continue;
    if (problems.length >= 20) break;
    try {
      drafts.push(importedDraft(record, zone, proxied));
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
      const chain = err.details.chain as { message: string }[] | undefined;
      problems.push({ line: record.line, message: chain?.map(({ message }) => message).join(" ") ?? err.message });
    }
  }
  if (problems.length > 0) {
    const chain = problems
      .sort((a, b) => a.line - b.line)
      .map(({ line, message }) => ({ code: 9207, message: `line ${line}: ${message}` }));
    throw zoneErrors.badImport({ count: problems.length, chain });
  }
  return { drafts, parsed: drafts.length };
}

/** True for the zone's own SOA and NS records. */
const isOwn = ({ type, name, data }: ZoneFileRecord, zone: Zone) =>
  type === "SOA" || (type === "NS" && name === zone.name && zone.nameServers.includes(data?.target as string));

function importedDraft(
  { type, name, ttl, data, comment: remark }: ZoneFileRecord,
  zone: Zone,
  proxied: boolean,
): RecordDraft {
  if (!isRecordType(type) || data === undefined)
    throw zoneErrors.dnsInvalid({ chain: [{ code: 9001, message: `Records of type ${type} are not supported.` }] });
  const marks = marksOf(remark);
  return checkRecord(
    {
      type,
      name: `${name}.`,
      content: presentData(type, data),
      ttl: ttl === undefined || ttl === AUTO_TTL ? AUTO_TTL : Math.min(Math.max(ttl, MIN_TTL), MAX_TTL),
      proxied: isProxiable(type) && (marks.proxied ?? proxied),
      // A remark in a foreign file may be longer than a comment is allowed to be.
      comment: [...marks.comment].slice(0, 100).join(""),
      tags: marks.tags,
    },
    zone.name,
  );
}
