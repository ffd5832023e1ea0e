import { createHash } from "node:crypto";
import {
  checkData,
  DnsSyntaxError,
  isRecordType,
  isWithin,
  layoutOf,
  MAX_NAME_LENGTH,
  normalizeName,
  octetsOf,
  readData,
  RecordDataError,
  splitWords,
  type RecordData,
  type RecordType,
  type MasterFileToken,
  hasNamedFields,
} from "../../protocol/dns/index.ts";
import { zoneErrors } from "../errors.ts";
import { contentOf, hasPriority, isProxiable } from "./content.ts";
import { AUTO_TTL, MAX_TTL, MIN_TTL, type RecordDraft, type RecordRequest } from "./types.ts";

interface Problem {
  code: number;
  message: string;
}

const MAX_COMMENT_LENGTH = 100;
const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 100;
/** A TXT record of 4,095 octets takes up to 16 KiB if every octet is escaped. */
const MAX_WRITTEN_LENGTH = 20_000;
const TYPES_WITH_WRITTEN_CONTENT: ReadonlySet<RecordType> = new Set(["TXT", "CNAME", "AAAA"]);

/** Parses a request into a record of the zone. Throws dnsInvalid with every problem in its chain. */
export function checkRecord(request: RecordRequest, zone: string): RecordDraft {
  const problems: Problem[] = [];
  const attempt = <Result>(work: () => Result): Result | undefined => {
    try {
      return work();
    } catch (err) {
      if (!(err instanceof Invalid)) throw err;
      problems.push(err.problem);
      return undefined;
    }
  };
  const type = attempt(() => checkType(request.type));
  const name = attempt(() => recordName(request.name, zone));
  const data = type && attempt(() => dataOfRequest(type, request, zone));
  const proxied = attempt(() => checkProxied(type, request.proxied ?? false));
  const ttl = attempt(() => checkTtl(request.ttl ?? AUTO_TTL));
  const comment = attempt(() => checkComment(request.comment ?? ""));
  const tags = attempt(() => checkTags(request.tags ?? []));
  if (type === "CNAME" && name !== undefined && data?.target === name)
    problems.push({ code: 9039, message: "CNAME record cannot reference itself." });
  if (problems.length > 0) throw zoneErrors.dnsInvalid({ chain: problems });
  const settings = Object.fromEntries(Object.entries(request.settings ?? {}).filter(([, value]) => value === true));
  return {
    type: type!,
    name: name!,
    content: contentOf(type!, data!),
    written: writtenContentOf(type!, request, contentOf(type!, data!)),
    priority: hasPriority(type!) ? (data!.priority as number) : null,
    data: hasNamedFields(type!) ? data! : null,
    // The proxy chooses the TTL of a proxied record.
    ttl: proxied === true ? AUTO_TTL : ttl!,
    proxied: proxied!,
    privateRouting: request.privateRouting ?? false,
    settings: Object.keys(settings).length === 0 ? null : settings,
    comment: comment!,
    tags: tags!,
  };
}

/**
 * Returns the content as it was sent, with which clients such as Terraform compare, or null if it is already
 * normalized.
 */
function writtenContentOf(type: RecordType, { content }: RecordRequest, normal: string): string | null {
  if (!TYPES_WITH_WRITTEN_CONTENT.has(type) || content === undefined || content === normal) return null;
  // PostgreSQL cannot store U+0000.
  return content.length > MAX_WRITTEN_LENGTH || content.includes("\0") ? null : content;
}

/** Returns equal values for records that a resolver cannot distinguish. */
export const recordDigest = ({ priority, content }: Pick<RecordDraft, "priority" | "content">): string =>
  createHash("sha256")
    .update(`${priority ?? ""} ${content}`)
    .digest("base64url");

/**
 * Converts a name to an absolute name in the zone: "@" is the zone, and names outside it are relative unless they end
 * with a dot.
 */
function recordName(givenName: string, zone: string): string {
  const text = givenName.trim();
  if (text === "@" || text === "") return zone;
  let name: string;
  try {
    name = normalizeName(text);
  } catch (err) {
    if (err instanceof DnsSyntaxError) throw new Invalid(9000, `DNS name is invalid: ${err.message}.`);
    throw err;
  }
  if (isWithin(name, zone)) return name;
  if (text.endsWith(".")) throw new Invalid(9000, `DNS name is invalid: ${text} is not in ${zone}.`);
  const absoluteName = `${name}.${zone}`;
  if (absoluteName.length > MAX_NAME_LENGTH)
    throw new Invalid(9000, `DNS name is invalid: with ${zone} it is longer than ${MAX_NAME_LENGTH} octets.`);
  return absoluteName;
}

class Invalid extends Error {
  readonly problem: Problem;

  constructor(code: number, message: string) {
    super(message);
    this.problem = { code, message };
  }
}

function checkType(type: string): RecordType {
  const upper = type.toUpperCase();
  if (upper === "SOA") throw new Invalid(9001, "The SOA record is managed by the server.");
  if (!isRecordType(upper)) throw new Invalid(9001, `DNS record type ${JSON.stringify(type.slice(0, 20))} is invalid.`);
  return upper;
}

function checkProxied(type: RecordType | undefined, proxied: boolean): boolean {
  if (proxied && type !== undefined && !isProxiable(type))
    throw new Invalid(9004, "This record type cannot be proxied.");
  return proxied;
}

function checkTtl(ttl: number): number {
  if (ttl === AUTO_TTL || (Number.isInteger(ttl) && ttl >= MIN_TTL && ttl <= MAX_TTL)) return ttl;
  throw new Invalid(
    9021,
    `Invalid TTL. Must be between ${MIN_TTL} and ${MAX_TTL} seconds, or ${AUTO_TTL} for Automatic.`,
  );
}

function checkComment(givenComment: string): string | null {
  const comment = givenComment.trim();
  if ([...comment].length > MAX_COMMENT_LENGTH)
    throw new Invalid(9300, `The comment has more than ${MAX_COMMENT_LENGTH} characters.`);
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f\u2028\u2029]/.test(comment))
    throw new Invalid(9300, "The comment contains a control character or line break.");
  return comment === "" ? null : comment;
}

function checkTags(givenTags: string[]): string[] {
  const tags = [...new Set(givenTags.map((tag) => tag.trim()))];
  if (tags.length > MAX_TAGS) throw new Invalid(9301, `A record can have at most ${MAX_TAGS} tags.`);
  for (const tag of tags) {
    // oxlint-disable-next-line no-control-regex
    if (!/^[\w-]{1,32}:[^\0-\x1f\x7f\u2028\u2029]*$/.test(tag))
      throw new Invalid(
        9301,
        `The tag ${JSON.stringify(tag.slice(0, 50))} is not in the form name:value; a name has up to 32 letters, digits, "_" and "-".`,
      );
    if ([...tag].length > MAX_TAG_LENGTH)
      throw new Invalid(9301, `A tag can have at most ${MAX_TAG_LENGTH} characters.`);
  }
  return tags;
}

function dataOfRequest(type: RecordType, { content, data, priority }: RecordRequest, zone: string): RecordData {
  try {
    if (data !== undefined && (content === undefined || hasNamedFields(type)))
      return checkData(type, { ...(hasPriority(type) && priority !== undefined && { priority }), ...data });
    if (content === undefined)
      throw new Invalid(
        9101,
        hasNamedFields(type) ? "Either content or data is required." : "content is a required data field.",
      );
    if (type === "TXT" && !content.trim().startsWith('"')) return textOf(content);
    return readContent(type, content, priority, zone);
  } catch (err) {
    if (err instanceof DnsSyntaxError) throw invalidContent(type, err);
    throw err;
  }
}

/** Without quotes the entire content is the text, including spaces. */
function textOf(content: string): RecordData {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(content))
    throw new DnsSyntaxError("it contains a control character: write the octet as \\DDD in a quoted string");
  return checkData("TXT", { strings: [octetsOf(content)] });
}

function readContent(type: RecordType, content: string, priority: number | undefined, zone: string): RecordData {
  const tokens = withoutClass(splitWords(content), type);
  // Accepts content with or without a leading priority.
  if (hasPriority(type) && tokens.length === layoutOf(type).length - 1) {
    if (priority === undefined) throw new RecordDataError("priority", "it is missing", true);
    return readData(type, [{ text: String(priority), quoted: false, escaped: false }, ...tokens], { apex: zone });
  }
  return readData(type, tokens, { apex: zone });
}

/** The published API has `10 IN SRV 5 8806 example.com` as an example. */
const withoutClass = (tokens: MasterFileToken[], type: RecordType): MasterFileToken[] => {
  const classIndex = tokens.findIndex(
    ({ text, quoted }, index) => !quoted && text === "IN" && tokens[index + 1]?.text === type,
  );
  return classIndex === -1 ? tokens : tokens.toSpliced(classIndex, 2);
};

/** Codes and texts of the hosted API for invalid content, by type; only types for which it has them. */
const CONTENT_ERRORS: Partial<Record<RecordType, [code: number, message: string]>> = {
  A: [9005, "Content for A record is invalid. Must be a valid IPv4 address"],
  AAAA: [9006, "Content for AAAA record is invalid. Must be a valid IPv6 address"],
  CNAME: [9007, "Content for CNAME record is invalid."],
  NS: [9008, "Content for NS record is invalid."],
  MX: [9009, "Content for MX record must be a hostname."],
};

function invalidContent(type: RecordType, err: DnsSyntaxError): Invalid {
  const field = err instanceof RecordDataError ? err.field : undefined;
  if (field === "priority" && err instanceof RecordDataError) {
    return err.missing
      ? new Invalid(9101, "priority is a required data field.")
      : new Invalid(9102, `priority is invalid: ${err.message}.`);
  }
  if (err instanceof RecordDataError && err.missing && layoutOf(type).length > 1)
    return new Invalid(9101, `${err.field} is a required data field.`);
  const knownError = CONTENT_ERRORS[type];
  if (knownError !== undefined)
    return new Invalid(
      knownError[0],
      type === "A" || type === "AAAA" ? knownError[1] : `${knownError[1]} ${sentence(err.message)}`,
    );
  if (type === "TXT" && err.message.startsWith("it takes"))
    return new Invalid(9015, `Record content exceeds the allowed length of 4096 wire format bytes: ${err.message}.`);
  return new Invalid(
    9099,
    `Content for ${type} record is invalid. ${field === undefined || layoutOf(type).length === 1 ? "" : `${field}: `}${sentence(err.message)}`,
  );
}

const sentence = (reason: string) => `${reason[0]!.toUpperCase()}${reason.slice(1)}.`;
