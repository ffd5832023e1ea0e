import * as fc from "fast-check";
import { checkData, type RecordData } from "./record-data.ts";
import { RECORD_TYPES, type RecordType } from "./record-types.ts";

interface TestRecord {
  type: RecordType;
  data: RecordData;
}

const u8 = fc.integer({ min: 0, max: 255 });
const u16 = fc.integer({ min: 0, max: 65_535 });
const label = fc.stringMatching(/^[a-z0-9_]([a-z0-9-]{0,8}[a-z0-9])?$/);
export const hostName = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 3 }), fc.constantFrom("test", "example"))
  .map(([labels, last]) => [...labels, last].join("."));
const hostOrRoot = fc.oneof({ weight: 9, arbitrary: hostName }, { weight: 1, arbitrary: fc.constant(".") });
const printable = (max: number) =>
  fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: max });
const octets = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes).toString("hex"));
const base64 = fc.uint8Array({ minLength: 1, maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const params = fc
  .uniqueArray(
    fc.oneof(
      fc.constantFrom('alpn="h2,h3"', "port=443", "no-default-alpn", 'ipv4hint="192.0.2.1,192.0.2.2"'),
      fc
        .tuple(fc.integer({ min: 100, max: 65_535 }), printable(20))
        .map(([key, value]) => `key${key}="${value.replace(/["\\]/g, "\\$&")}"`),
    ),
    { selector: (param) => param.split("=")[0]!, maxLength: 4 },
  )
  .map((list) => list.join(" "));
const location = fc.record({
  lat_degrees: fc.integer({ min: 0, max: 90 }),
  lat_minutes: fc.integer({ min: 0, max: 59 }),
  lat_seconds: fc.integer({ min: 0, max: 59_999 }).map((n) => n / 1000),
  lat_direction: fc.constantFrom("N", "S"),
  long_degrees: fc.integer({ min: 0, max: 180 }),
  long_minutes: fc.integer({ min: 0, max: 59 }),
  long_seconds: fc.integer({ min: 0, max: 59_999 }).map((n) => n / 1000),
  long_direction: fc.constantFrom("E", "W"),
  altitude: fc.integer({ min: -10_000_000, max: 100_000_000 }).map((n) => n / 100),
  size: fc.integer({ min: 0, max: 90_000_000 }),
  precision_horz: fc.integer({ min: 0, max: 90_000_000 }),
  precision_vert: fc.integer({ min: 0, max: 90_000_000 }),
});

const DATA: Record<RecordType, fc.Arbitrary<Record<string, unknown>>> = {
  A: fc.record({ address: fc.ipV4() }),
  AAAA: fc.record({ address: fc.ipV6().map((address) => checkData("AAAA", { address }).address as string) }),
  CAA: fc.record({ flags: u8, tag: fc.constantFrom("issue", "issuewild", "iodef"), value: printable(60) }),
  CERT: fc.record({ type: u16, key_tag: u16, algorithm: u8, certificate: base64 }),
  CNAME: fc.record({ target: hostName }),
  DNSKEY: fc.record({ flags: u16, protocol: fc.constant(3), algorithm: u8, public_key: base64 }),
  DS: fc.record({ key_tag: u16, algorithm: u8, digest_type: fc.constant(2), digest: hex(32) }),
  HTTPS: fc.record({ priority: fc.integer({ min: 1, max: 65_535 }), target: hostOrRoot, value: params }),
  LOC: location,
  MX: fc.record({ priority: u16, target: hostName }),
  NAPTR: fc.record({
    order: u16,
    preference: u16,
    flags: fc.constantFrom("u", "s", ""),
    service: printable(30),
    regex: printable(40),
    replacement: fc.constant("."),
  }),
  NS: fc.record({ target: hostName }),
  OPENPGPKEY: fc.record({ public_key: base64 }),
  PTR: fc.record({ target: hostName }),
  SMIMEA: fc.record({ usage: u8, selector: u8, matching_type: fc.constant(1), certificate: hex(32) }),
  SRV: fc.record({ priority: u16, weight: u16, port: u16, target: hostOrRoot }),
  SSHFP: fc.record({ algorithm: u8, type: fc.constant(2), fingerprint: hex(32) }),
  SVCB: fc.record({ priority: fc.integer({ min: 1, max: 65_535 }), target: hostOrRoot, value: params }),
  TLSA: fc.record({ usage: u8, selector: u8, matching_type: fc.constant(2), certificate: hex(64) }),
  TXT: fc.record({ strings: fc.array(octets, { minLength: 1, maxLength: 4 }) }),
  URI: fc.record({ priority: u16, weight: u16, target: printable(60).map((text) => `https://${text}`) }),
};

/** Any record data in normal form. */
export const recordOf = (types: readonly RecordType[] = RECORD_TYPES): fc.Arbitrary<TestRecord> =>
  fc.constantFrom(...types).chain((type) => DATA[type].map((raw) => ({ type, data: checkData(type, raw) })));
