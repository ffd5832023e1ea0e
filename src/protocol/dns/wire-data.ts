import type { FieldKind, FieldValue } from "./fields.ts";
import { checkData, type RecordData } from "./record-data.ts";
import { layoutOf, type RecordType } from "./record-types.ts";
import { DnsSyntaxError } from "./syntax-error.ts";
import { MalformedMessage, type RawRecord, readName, readUncompressedName } from "./wire-reader.ts";

/** Types whose data can be read from wire format. LOC, HTTPS and SVCB can only be read from text. */
export type WireType = Exclude<RecordType, "LOC" | "HTTPS" | "SVCB"> | "SOA";

/** Fields of SOA data (RFC 1035 3.3.13). */
const SOA = [
  ["primary", "host"],
  ["mailbox", "host"],
  ["serial", "u32"],
  ["refresh", "u32"],
  ["retry", "u32"],
  ["expire", "u32"],
  ["minimum", "u32"],
] as const;

/**
 * Reads the fields of a record in `message`, which may contain compressed names. The fields have the same names as in
 * checkData, but their values are not normalized: domain names are in lower case without the final dot ("." is the
 * root), and the data as a whole is not validated. Throws MalformedMessage.
 */
export const readRecordData = (message: Buffer, type: WireType, { data, end }: RawRecord): RecordData =>
  readFields(message, type, end - data.length, end, readName);

/**
 * Reads record data from uncompressed octets: the `\#` form of a master file (RFC 3597 5). Not for LOC, HTTPS and SVCB.
 * Throws DnsSyntaxError.
 */
export function dataFromWire(type: RecordType, bytes: Buffer): RecordData {
  if (type === "LOC" || type === "HTTPS" || type === "SVCB")
    throw new DnsSyntaxError(`data of ${type} cannot be given as octets: write its fields`);
  try {
    return checkData(type, readFields(bytes, type, 0, bytes.length, readUncompressedName));
  } catch (err) {
    throw err instanceof MalformedMessage ? new DnsSyntaxError(err.message) : err;
  }
}

function readFields(
  message: Buffer,
  type: WireType,
  start: number,
  end: number,
  readNameAt: typeof readName,
): RecordData {
  let at = start;
  const takeOctets = (length: number) => {
    if (at + length > end) throw new MalformedMessage("the data of a record is truncated");
    at += length;
    return message.subarray(at - length, at);
  };
  const takeString = () => takeOctets(takeOctets(1)[0]!).toString("latin1");
  const countRemaining = () => end - at;
  const takeRest = () => takeOctets(countRemaining());
  const name = () => {
    const readResult = readNameAt(message, at);
    takeOctets(readResult.end - at);
    return readResult.name || ".";
  };
  const takeStrings = () => {
    const foundStrings: string[] = [];
    while (countRemaining() > 0) foundStrings.push(takeString());
    return foundStrings;
  };
  const readers: Record<Exclude<FieldKind, "params" | "location"> | "u32", () => FieldValue> = {
    u8: () => takeOctets(1)[0]!,
    u16: () => takeOctets(2).readUInt16BE(),
    u32: () => takeOctets(4).readUInt32BE(),
    ipv4: () => takeOctets(4).join("."),
    ipv6: () => ipv6Text(takeOctets(16)),
    host: name,
    hostOrRoot: name,
    string: takeString,
    tag: takeString,
    text: () => takeRest().toString("latin1"),
    hex: () => takeRest().toString("hex"),
    base64: () => takeRest().toString("base64"),
    strings: takeStrings,
  };
  const data: RecordData = {};
  for (const [field, kind] of type === "SOA" ? SOA : layoutOf(type))
    data[field] = readers[kind as keyof typeof readers]();
  if (countRemaining() > 0) throw new MalformedMessage(`${countRemaining()} trailing octets in the data of a record`);
  return data;
}

/** Formats an address as in RFC 5952. */
const ipv6Text = (octets: Buffer) =>
  new URL(`http://[${octets.toString("hex").match(/.{4}/g)!.join(":")}]`).hostname.slice(1, -1);
