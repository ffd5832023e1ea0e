import type { FieldKind } from "./fields.ts";

type Layout = readonly (readonly [name: string, kind: FieldKind])[];

/**
 * What the data of each type consists of, in the order of its presentation. Names and meaning of the fields: RFC 1035 3.3-3.4,
 * 3596 (AAAA), 2782 (SRV), 8659 (CAA), 4398 (CERT), 4034 (DNSKEY, DS), 9460 (HTTPS, SVCB), 1876 (LOC), 3403 (NAPTR),
 * 7929 (OPENPGPKEY), 8162 (SMIMEA), 4255 (SSHFP), 6698 (TLSA), 7553 (URI).
 */
export const LAYOUTS = {
  A: [["address", "ipv4"]],
  AAAA: [["address", "ipv6"]],
  CAA: [
    ["flags", "u8"],
    ["tag", "tag"],
    ["value", "text"],
  ],
  CERT: [
    ["type", "u16"],
    ["key_tag", "u16"],
    ["algorithm", "u8"],
    ["certificate", "base64"],
  ],
  CNAME: [["target", "host"]],
  DNSKEY: [
    ["flags", "u16"],
    ["protocol", "u8"],
    ["algorithm", "u8"],
    ["public_key", "base64"],
  ],
  DS: [
    ["key_tag", "u16"],
    ["algorithm", "u8"],
    ["digest_type", "u8"],
    ["digest", "hex"],
  ],
  HTTPS: [
    ["priority", "u16"],
    ["target", "hostOrRoot"],
    ["value", "params"],
  ],
  LOC: [["location", "location"]],
  MX: [
    ["priority", "u16"],
    ["target", "hostOrRoot"],
  ],
  NAPTR: [
    ["order", "u16"],
    ["preference", "u16"],
    ["flags", "string"],
    ["service", "string"],
    ["regex", "string"],
    ["replacement", "hostOrRoot"],
  ],
  NS: [["target", "host"]],
  OPENPGPKEY: [["public_key", "base64"]],
  PTR: [["target", "host"]],
  SMIMEA: [
    ["usage", "u8"],
    ["selector", "u8"],
    ["matching_type", "u8"],
    ["certificate", "hex"],
  ],
  SRV: [
    ["priority", "u16"],
    ["weight", "u16"],
    ["port", "u16"],
    ["target", "hostOrRoot"],
  ],
  SSHFP: [
    ["algorithm", "u8"],
    ["type", "u8"],
    ["fingerprint", "hex"],
  ],
  SVCB: [
    ["priority", "u16"],
    ["target", "hostOrRoot"],
    ["value", "params"],
  ],
  TLSA: [
    ["usage", "u8"],
    ["selector", "u8"],
    ["matching_type", "u8"],
    ["certificate", "hex"],
  ],
  TXT: [["strings", "strings"]],
  URI: [
    ["priority", "u16"],
    ["weight", "u16"],
    ["target", "text"],
  ],
} as const satisfies Record<string, Layout>;

export type RecordType = keyof typeof LAYOUTS;
export const RECORD_TYPES = Object.keys(LAYOUTS) as RecordType[];
export const isRecordType = (type: string): type is RecordType => Object.hasOwn(LAYOUTS, type);
export const layoutOf = (type: RecordType): Layout => LAYOUTS[type];

/** Types that a master file may hold and that are no records of ours: the zone's own, or made by a signer. */
const OTHER_TYPES = [
  "SOA",
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "CDS",
  "CDNSKEY",
  "HINFO",
  "RP",
  "DNAME",
  "SPF",
  "ZONEMD",
  "CSYNC",
  "AFSDB",
  "APL",
  "EUI48",
  "EUI64",
  "DHCID",
  "IPSECKEY",
  "KX",
];
const KNOWN_WORDS = new Set<string>([...RECORD_TYPES, ...OTHER_TYPES]);

/** Whether a word of a master file can only be a type: a known one, or TYPE followed by a number (RFC 3597 5). */
export const isTypeWord = (word: string): boolean => KNOWN_WORDS.has(word) || /^TYPE\d{1,5}$/.test(word);

/** RFC 3597 5: TYPE and a number stand for the type itself. */
export const typeWord = (word: string): string => {
  const number = /^TYPE(\d{1,5})$/.exec(word)?.[1];
  return (number !== undefined && NUMBERS.get(Number(number))) || word;
};

const NUMBERS = new Map<number, RecordType | "SOA">([
  [1, "A"],
  [2, "NS"],
  [5, "CNAME"],
  [6, "SOA"],
  [12, "PTR"],
  [15, "MX"],
  [16, "TXT"],
  [28, "AAAA"],
  [29, "LOC"],
  [33, "SRV"],
  [35, "NAPTR"],
  [37, "CERT"],
  [43, "DS"],
  [44, "SSHFP"],
  [48, "DNSKEY"],
  [52, "TLSA"],
  [53, "SMIMEA"],
  [61, "OPENPGPKEY"],
  [64, "SVCB"],
  [65, "HTTPS"],
  [256, "URI"],
  [257, "CAA"],
]);

const BY_TYPE = new Map([...NUMBERS].map(([number, type]) => [type, number]));

/** The number of a type on the wire. */
export const typeNumber = (type: RecordType | "SOA"): number => BY_TYPE.get(type)!;
