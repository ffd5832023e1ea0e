import { addressOctets } from "./address-octets.ts";
import { writeLocation } from "./location-wire.ts";
import type { Location } from "./location.ts";
import type { RecordData } from "./record-data.ts";
import { layoutOf, type RecordType } from "./record-types.ts";
import { writeParams } from "./service-params-wire.ts";
import type { WireWriter } from "./wire-writer.ts";

/** Types defined in RFC 1035: only these may have compressed names in their data (RFC 3597 4). */
const COMPRESSED = new Set<RecordType>(["CNAME", "MX", "NS", "PTR"]);

/** Writes data returned by checkData into a message. */
export function writeRecordData(type: RecordType, data: RecordData, out: WireWriter): void {
  if (type === "LOC") return writeLocation(data as unknown as Location, out);
  const compress = COMPRESSED.has(type);
  for (const [field, kind] of layoutOf(type)) {
    const value = data[field]!;
    switch (kind) {
      case "u8":
        out.u8(value as number);
        break;
      case "u16":
        out.u16(value as number);
        break;
      case "ipv4":
      case "ipv6":
        out.bytes(addressOctets(value as string));
        break;
      case "host":
      case "hostOrRoot":
        out.name(value as string, compress);
        break;
      case "string":
      case "tag":
        writeString(value as string, out);
        break;
      case "text":
        out.bytes(Buffer.from(value as string, "latin1"));
        break;
      case "hex":
        out.bytes(Buffer.from(value as string, "hex"));
        break;
      case "base64":
        out.bytes(Buffer.from(value as string, "base64"));
        break;
      case "strings":
        for (const string of value as string[]) writeString(string, out);
        break;
      case "params":
        writeParams(value as string, out);
        break;
      case "location":
        break;
    }
  }
}

function writeString(octets: string, out: WireWriter): void {
  out.u8(octets.length);
  out.bytes(Buffer.from(octets, "latin1"));
}
