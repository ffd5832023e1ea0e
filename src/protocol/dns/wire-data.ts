import { checkData, type RecordData } from "./record-data.ts";
import { layoutOf, type RecordType } from "./record-types.ts";
import { DnsSyntaxError } from "./syntax-error.ts";

/**
 * Record data from its octets, uncompressed: what `\#` of a master file holds (RFC 3597 5). Not for LOC, HTTPS and SVCB, which
 * everybody writes in words. Throws DnsSyntaxError.
 */
export function dataFromWire(type: RecordType, bytes: Buffer): RecordData {
  if (type === "LOC" || type === "HTTPS" || type === "SVCB")
    throw new DnsSyntaxError(`data of ${type} is not read from octets: write it in words`);
  let at = 0;
  const take = (length: number) => {
    if (at + length > bytes.length) throw new DnsSyntaxError("the octets end too early");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const string = () => take(take(1)[0]!).toString("latin1");
  const rest = () => take(bytes.length - at);
  const name = () => {
    const labels: string[] = [];
    for (let label = string(); label !== ""; label = string()) {
      if (label.length > 63) throw new DnsSyntaxError("a name is compressed, or a label too long");
      labels.push(label);
    }
    return `${labels.join(".")}.`;
  };
  const strings = () => {
    const found: string[] = [];
    while (at < bytes.length) found.push(string());
    return found;
  };
  const readers = {
    u8: () => take(1)[0]!,
    u16: () => take(2).readUInt16BE(),
    ipv4: () => take(4).join("."),
    ipv6: () => take(16).toString("hex").match(/.{4}/g)!.join(":"),
    host: name,
    hostOrRoot: name,
    string,
    tag: string,
    text: () => rest().toString("latin1"),
    hex: () => rest().toString("hex"),
    base64: () => rest().toString("base64"),
    strings,
  };
  const raw = Object.fromEntries(
    layoutOf(type).map(([field, kind]) => [field, readers[kind as keyof typeof readers]()]),
  );
  if (at < bytes.length) throw new DnsSyntaxError(`${bytes.length - at} octets are left over`);
  return checkData(type, raw);
}
