import { FIELDS, type FieldValue } from "./fields.ts";
import type { Location } from "./location.ts";
import { layoutOf, type RecordType } from "./record-types.ts";
import { DnsSyntaxError } from "./syntax-error.ts";
import type { MasterFileToken } from "./tokens.ts";

/**
 * Fields of a record's data by name, in normal form, in which each record has a unique spelling. For TXT: `strings`,
 * each of at most 255 octets (see octets.ts).
 */
export type RecordData = Record<string, FieldValue>;

/** Reports invalid record data and the field concerned. */
export class RecordDataError extends DnsSyntaxError {
  readonly field: string;
  readonly missing: boolean;

  constructor(field: string, reason: string, missing = false) {
    super(reason);
    this.field = field;
    this.missing = missing;
  }
}

/** Maximum size of TXT data on the wire. */
const MAX_TXT_OCTETS = 4096;

/** Validates and normalizes data. The fields of LOC are at the top level. Throws RecordDataError. */
export function checkData(type: RecordType, inputData: Record<string, unknown>): RecordData {
  if (type === "LOC") return { ...(runInField("location", () => FIELDS.location.check(inputData)) as Location) };
  const data: RecordData = {};
  for (const [name, kind] of layoutOf(type)) {
    if (inputData[name] === undefined && kind !== "params") throw new RecordDataError(name, "it is missing", true);
    data[name] = runInField(name, () => FIELDS[kind].check(inputData[name]));
  }
  checkConsistency(type, data);
  return data;
}

/**
 * Reads data in presentation form (RFC 1035 5.1). Names without a final dot are relative to `origin` if given,
 * otherwise absolute; `@` is `apex`.
 */
export function readData(
  type: RecordType,
  tokens: MasterFileToken[],
  { apex, origin }: { apex: string; origin?: string },
): RecordData {
  const layout = layoutOf(type);
  const hostOf = (token: MasterFileToken) => absoluteName(token, apex, origin);
  const raw: Record<string, unknown> = {};
  let at = 0;
  for (const [name, kind] of layout) {
    const { wordCount, read } = FIELDS[kind];
    const fieldTokens = tokens.slice(at, wordCount === undefined ? undefined : at + wordCount);
    if (fieldTokens.length === 0 && kind !== "params") throw new RecordDataError(name, "it is missing", true);
    raw[name] = runInField(name, () => read(fieldTokens, hostOf));
    at += fieldTokens.length;
  }
  if (at < tokens.length)
    throw new RecordDataError(layout.at(-1)![0], `unexpected ${JSON.stringify(tokens[at]!.text)} after it`);
  return checkData(type, type === "LOC" ? (raw.location as Record<string, unknown>) : raw);
}

/**
 * Formats data returned by checkData in presentation form. `absolute` appends a dot to names, as required in master
 * files.
 */
export function presentData(type: RecordType, data: RecordData, { absolute = false } = {}): string {
  if (type === "LOC") return FIELDS.location.present(data as unknown as Location, absolute);
  return layoutOf(type)
    .map(([name, kind]) => FIELDS[kind].present(data[name]!, absolute))
    .filter((part) => part !== "")
    .join(" ");
}

/** Converts a name in a master file, which is `@`, absolute, or relative to the origin. */
export function absoluteName({ text, quoted, escaped }: MasterFileToken, apex: string, origin?: string): string {
  if (escaped)
    throw new DnsSyntaxError(`names with escaped characters are not supported, found ${JSON.stringify(text)}`);
  // Names may be written in UTF-8; a word holds the raw octets.
  const name = Buffer.from(text, "latin1").toString("utf8");
  if (name === "@" && !quoted) return `${origin ?? apex}.`;
  if (name.endsWith(".") || origin === undefined) return name;
  return origin === "" ? `${name}.` : `${name}.${origin}.`;
}

function runInField<Result>(field: string, work: () => Result): Result {
  try {
    return work();
  } catch (err) {
    if (err instanceof DnsSyntaxError && !(err instanceof RecordDataError))
      throw new RecordDataError(field, err.message);
    throw err;
  }
}

/** Digest length in octets, by algorithm number. */
const DIGESTS: Partial<Record<RecordType, { typeField: string; digestField: string; octets: Record<number, number> }>> =
  {
    DS: { typeField: "digest_type", digestField: "digest", octets: { 1: 20, 2: 32, 4: 48 } },
    SSHFP: { typeField: "type", digestField: "fingerprint", octets: { 1: 20, 2: 32 } },
    TLSA: { typeField: "matching_type", digestField: "certificate", octets: { 1: 32, 2: 64 } },
    SMIMEA: { typeField: "matching_type", digestField: "certificate", octets: { 1: 32, 2: 64 } },
  };

function checkConsistency(type: RecordType, data: RecordData): void {
  const digest = DIGESTS[type];
  const neededOctets = digest?.octets[data[digest.typeField] as number];
  if (
    digest !== undefined &&
    neededOctets !== undefined &&
    (data[digest.digestField] as string).length !== 2 * neededOctets
  ) {
    throw new RecordDataError(
      digest.digestField,
      `with ${digest.typeField} ${data[digest.typeField] as number} it must be ${neededOctets} octets long`,
    );
  }
  if (type === "DNSKEY" && data.protocol !== 3) throw new RecordDataError("protocol", "it must be 3 (RFC 4034 2.1.2)");
  // RFC 9460 2.4.2
  if ((type === "HTTPS" || type === "SVCB") && data.priority === 0 && data.value !== "")
    throw new RecordDataError("value", "priority 0 is an alias, which cannot have service parameters");
  // RFC 7505 3
  if (type === "MX" && data.target === "." && data.priority !== 0)
    throw new RecordDataError("priority", "a null MX must have priority 0");
  if (type === "URI" && data.target === "") throw new RecordDataError("target", "it is empty");
  if (type === "NAPTR" && data.regex !== "" && data.replacement !== ".")
    throw new RecordDataError("replacement", 'it must be "." where there is a regex (RFC 3403 4.1)');
  if (type === "TXT") {
    const octets = (data.strings as string[]).reduce((sum, { length }) => sum + length + 1, 0);
    if (octets > MAX_TXT_OCTETS)
      throw new RecordDataError("strings", `it takes ${octets} octets; at most ${MAX_TXT_OCTETS} are allowed`);
  }
}

/** Reads data in the generic format of RFC 3597 section 5, `\# <length> <hex>`, as octets. Undefined if the data has a different form. */
export function readOpaque(tokens: MasterFileToken[]): Buffer | undefined {
  const [genericMark, length, ...rest] = tokens;
  if (genericMark === undefined || genericMark.text !== "#" || !genericMark.escaped || genericMark.quoted)
    return undefined;
  const hex = rest.map(({ text }) => text).join("");
  if (
    !/^\d{1,5}$/.test(length?.text ?? "") ||
    !/^([0-9a-fA-F]{2})*$/.test(hex) ||
    hex.length !== 2 * Number(length!.text)
  ) {
    throw new DnsSyntaxError(
      "\\# is followed by the number of octets and as many pairs of hexadecimal digits (RFC 3597 5)",
    );
  }
  return Buffer.from(hex, "hex");
}
