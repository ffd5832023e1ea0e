import { messageOf } from "../../kernel/index.ts";
import { normalizeName } from "./names.ts";
import { absoluteName, readData, readOpaque, RecordDataError, type RecordData } from "./record-data.ts";
import { isRecordType, isTypeMnemonic, canonicalType } from "./record-types.ts";
import { DnsSyntaxError } from "./syntax-error.ts";
import { entries, type MasterFileEntry, type MasterFileToken } from "./tokens.ts";
import { dataFromWire } from "./wire-data.ts";

export interface ZoneFileRecord {
  line: number;
  /** Name in normal form, absolute, without the final dot. */
  name: string;
  /** Seconds; undefined if neither the record nor any earlier line specifies a TTL. */
  ttl: number | undefined;
  /** Type in upper case. Only types in RECORD_TYPES have `data`. */
  type: string;
  data?: RecordData;
  /** Data of a type without a layout, written as octets (RFC 3597 5). */
  opaque?: Buffer;
  comment: string;
}

interface ZoneFile {
  records: ZoneFileRecord[];
  /** Lines that could not be read. All other lines were read. */
  problems: { line: number; message: string }[];
}

interface ReadOptions {
  /** Name of the zone in normal form: the value of `@` until $ORIGIN changes it. */
  origin: string;
  maxRecords?: number;
  maxProblems?: number;
}

/**
 * Reads a master file (RFC 1035 5) with $TTL (RFC 2308 4) and unknown types (RFC 3597 5). $INCLUDE and $GENERATE are
 * reported as problems. Never throws.
 */
export function readZoneFile(text: string, { origin, maxRecords = 200_000, maxProblems = 20 }: ReadOptions): ZoneFile {
  const state: State = { apex: origin, origin, defaultTtl: undefined, lastTtl: undefined, owner: undefined };
  const records: ZoneFileRecord[] = [];
  const problems: ZoneFile["problems"] = [];
  const addProblem = (line: number, thrown: unknown) => void problems.push({ line, message: describe(thrown) });
  try {
    // Some editors add a byte order mark.
    for (const entry of entries(text.replace(/^\uFEFF/, ""))) {
      try {
        if (isDirective(entry)) applyDirective(entry, state);
        else records.push(readRecord(entry, state));
      } catch (err) {
        if (!(err instanceof DnsSyntaxError)) throw err;
        addProblem(entry.line, err);
      }
      if (problems.length >= maxProblems) break;
      if (records.length > maxRecords) {
        addProblem(entry.line, new DnsSyntaxError(`the file has more than ${maxRecords} records`));
        break;
      }
    }
  } catch (err) {
    if (!(err instanceof DnsSyntaxError)) throw err;
    addProblem(err.line ?? 1, err);
  }
  return { records, problems };
}

const describe = (thrown: unknown) =>
  thrown instanceof RecordDataError ? `${thrown.field}: ${thrown.message}` : messageOf(thrown);

interface State {
  apex: string;
  /** "" is the root. */
  origin: string;
  defaultTtl: number | undefined;
  /** The most recent TTL, which applies without $TTL (RFC 1035 5.1). */
  lastTtl: number | undefined;
  owner: string | undefined;
}

const isDirective = ({ inheritsOwner, tokens }: MasterFileEntry) =>
  !inheritsOwner && !tokens[0]!.quoted && tokens[0]!.text.startsWith("$");

function applyDirective({ tokens: [word, value, extra] }: MasterFileEntry, state: State): void {
  const directive = word!.text.toUpperCase();
  if (value === undefined || (extra !== undefined && directive !== "$INCLUDE" && directive !== "$GENERATE"))
    throw new DnsSyntaxError(`${directive} requires exactly one value`);
  if (directive === "$ORIGIN") state.origin = normalizeName(absoluteName(value, state.apex, state.origin));
  else if (directive === "$TTL") state.defaultTtl = parseTtl(value.text);
  else if (directive === "$INCLUDE")
    throw new DnsSyntaxError("$INCLUDE is not supported: insert the records of that file instead");
  else if (directive === "$GENERATE")
    throw new DnsSyntaxError("$GENERATE is not supported: write the generated records instead");
  else throw new DnsSyntaxError(`unknown directive ${directive}`);
}

function readRecord({ line, inheritsOwner, tokens, comment }: MasterFileEntry, state: State): ZoneFileRecord {
  let at = 0;
  if (!inheritsOwner) state.owner = normalizeName(absoluteName(tokens[at++]!, state.apex, state.origin));
  if (state.owner === undefined)
    throw new DnsSyntaxError("the first record has no owner name: the line starts with white space");
  const { ttl: statedTtl, type, end } = readHead(tokens, at);
  if (statedTtl !== undefined) state.lastTtl = statedTtl;
  const rest = tokens.slice(end);
  const record: ZoneFileRecord = {
    line,
    name: state.owner,
    ttl: statedTtl ?? state.defaultTtl ?? state.lastTtl,
    type,
    comment,
  };
  if (type === "SOA") return readSoa(record, rest, state);
  const opaqueData = readOpaque(rest);
  if (!isRecordType(type)) return { ...record, ...(opaqueData !== undefined && { opaque: opaqueData }) };
  return { ...record, data: opaqueData === undefined ? readData(type, rest, state) : dataFromWire(type, opaqueData) };
}

/** Reads `[ttl] [class] type`, the first two in either order. */
function readHead(tokens: MasterFileToken[], from: number): { ttl: number | undefined; type: string; end: number } {
  let ttl: number | undefined;
  let hasClass = false;
  for (let at = from; at < tokens.length; at++) {
    const word = tokens[at]!.text.toUpperCase();
    if (word === "IN" && !hasClass) hasClass = true;
    else if (["CH", "HS", "CS"].includes(word) || (/^CLASS\d+$/.test(word) && word !== "CLASS1"))
      throw new DnsSyntaxError(`class ${word} is not supported; use IN`);
    else if (word === "CLASS1" && !hasClass) hasClass = true;
    else if (ttl === undefined && isTtl(word)) ttl = parseTtl(word);
    else if (isTypeMnemonic(word)) return { ttl, type: canonicalType(word), end: at + 1 };
    else throw new DnsSyntaxError(`expected a record type, found ${JSON.stringify(tokens[at]!.text)}`);
  }
  throw new DnsSyntaxError("the line ends before the record type");
}

/** The SOA record is only used for a TTL: its last number is the default for records without one (RFC 1035 3.3.13). */
function readSoa(record: ZoneFileRecord, rest: MasterFileToken[], state: State): ZoneFileRecord {
  if (rest.length !== 7) throw new DnsSyntaxError("an SOA record must have seven fields");
  const minimum = parseTtl(rest[6]!.text);
  state.lastTtl ??= minimum;
  return { ...record, ttl: record.ttl ?? minimum };
}

const isTtl = (word: string) => /^(\d+|(\d+[SMHDW])+)$/.test(word);
const UNIT_SECONDS: Record<string, number> = { S: 1, M: 60, H: 3600, D: 86_400, W: 604_800 };
/** Maximum TTL (RFC 2181 8). */
const MAX_TTL_SECONDS = 2 ** 31 - 1;

/** Reads a TTL in seconds, or in BIND's `1h30m` form. */
function parseTtl(text: string): number {
  const word = text.toUpperCase();
  if (!isTtl(word)) throw new DnsSyntaxError(`expected a TTL, found ${JSON.stringify(text)}`);
  const seconds = /^\d+$/.test(word)
    ? Number(word)
    : [...word.matchAll(/(\d+)([SMHDW])/g)].reduce(
        (sum, [, count, unit]) => sum + Number(count) * UNIT_SECONDS[unit!]!,
        0,
      );
  if (seconds > MAX_TTL_SECONDS) throw new DnsSyntaxError(`the TTL ${text} is larger than ${MAX_TTL_SECONDS}`);
  return seconds;
}
