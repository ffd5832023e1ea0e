import { addressOctets } from "./address-octets.ts";
import { splitWords } from "./tokens.ts";
import { createWireWriter, type WireWriter } from "./wire-writer.ts";

/** Keys in RFC 9460 14.3.2, and those registered since. */
const KEYS = [
  "mandatory",
  "alpn",
  "no-default-alpn",
  "port",
  "ipv4hint",
  "ech",
  "ipv6hint",
  "dohpath",
  "ohttp",
  "tls-supported-groups",
];

const keyNumber = (key: string): number => (/^key\d+$/.test(key) ? Number(key.slice(3)) : KEYS.indexOf(key));

/** Writes service parameters in normal form, ordered by key (RFC 9460 2.2). */
export function writeParams(params: string, out: WireWriter): void {
  const parsed = splitWords(params).map(({ text }) => {
    const at = text.indexOf("=");
    return at === -1
      ? { key: keyNumber(text), value: "" }
      : { key: keyNumber(text.slice(0, at)), value: text.slice(at + 1) };
  });
  for (const { key, value } of parsed.sort((a, b) => a.key - b.key)) {
    out.u16(key);
    const octets = valueOctets(KEYS[key], value);
    out.u16(octets.length);
    out.bytes(octets);
  }
}

function valueOctets(name: string | undefined, value: string): Buffer {
  const out = createWireWriter();
  switch (name) {
    case "mandatory":
      for (const key of value
        .split(",")
        .map(keyNumber)
        .sort((a, b) => a - b))
        out.u16(key);
      break;
    case "alpn":
      for (const item of listItems(value)) {
        const octets = Buffer.from(item, "latin1").subarray(0, 255);
        out.u8(octets.length);
        out.bytes(octets);
      }
      break;
    case "port":
      out.u16(Number(value));
      break;
    case "ipv4hint":
    case "ipv6hint":
      for (const address of value.split(",")) out.bytes(addressOctets(address));
      break;
    case "ech":
      out.bytes(Buffer.from(value, "base64"));
      break;
    case "tls-supported-groups":
      for (const group of value.split(",")) out.u16(Number(group) & 0xffff);
      break;
    default:
      out.bytes(Buffer.from(value, "latin1"));
  }
  return out.finish();
}

/** RFC 9460 appendix A.1: commas separate items; a backslash escapes a comma or a backslash. */
function listItems(value: string): string[] {
  const items = [""];
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!;
    if (char === "\\" && at + 1 < value.length) items[items.length - 1] += value[++at]!;
    else if (char === ",") items.push("");
    else items[items.length - 1] += char;
  }
  return items;
}
