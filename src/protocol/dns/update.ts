import type { RecordData } from "./record-data.ts";
import { type RecordType, typeNumber } from "./record-types.ts";
import { writeData } from "./wire-data-write.ts";
import { createWireWriter, type WireWriter } from "./wire-writer.ts";

/** What must be true, or nothing is done (RFC 2136 2.4). */
export type Prerequisite =
  | { kind: "noSet"; name: string; type: RecordType }
  /** There are exactly these, whatever their TTL. */
  | { kind: "set"; name: string; type: RecordType; data: RecordData[] }
  | { kind: "nameFree"; name: string };

/** RFC 2136 2.5. */
export type UpdateStep =
  | { kind: "add"; name: string; type: RecordType; ttl: number; data: RecordData }
  | { kind: "delete"; name: string; type: RecordType; data: RecordData };

export interface Update {
  id: number;
  /** Normal. */
  zone: string;
  prerequisites: readonly Prerequisite[];
  steps: readonly UpdateStep[];
}

const UPDATE = 5;
const CLASS = { in: 1, none: 254, any: 255 } as const;
const ANY_TYPE = 255;

/** A message of opcode UPDATE. Throws MessageFull. */
export function writeUpdate({ id, zone, prerequisites, steps }: Update): Buffer {
  const out = createWireWriter();
  const conditions = prerequisites.reduce((sum, one) => sum + (one.kind === "set" ? one.data.length : 1), 0);
  out.u16(id);
  out.u16(UPDATE << 11);
  for (const count of [1, conditions, steps.length, 0]) out.u16(count);
  out.name(zone, false);
  out.u16(typeNumber("SOA"));
  out.u16(CLASS.in);
  for (const one of prerequisites) {
    if (one.kind === "set")
      for (const data of one.data)
        record(out, one.name, typeNumber(one.type), CLASS.in, 0, () => writeData(one.type, data, out));
    else record(out, one.name, one.kind === "nameFree" ? ANY_TYPE : typeNumber(one.type), CLASS.none, 0);
  }
  for (const step of steps) {
    const write = () => writeData(step.type, step.data, out);
    if (step.kind === "add") record(out, step.name, typeNumber(step.type), CLASS.in, step.ttl, write);
    else record(out, step.name, typeNumber(step.type), CLASS.none, 0, write);
  }
  return out.finish();
}

function record(
  out: WireWriter,
  name: string,
  type: number,
  classOf: number,
  ttl: number,
  data: () => void = () => {},
): void {
  out.name(name, false);
  out.u16(type);
  out.u16(classOf);
  out.u32(ttl);
  out.sized(data);
}

/** RFC 1035 4.1.1, RFC 2136 2.2. */
export const RCODE_NAMES = [
  "NOERROR",
  "FORMERR",
  "SERVFAIL",
  "NXDOMAIN",
  "NOTIMP",
  "REFUSED",
  "YXDOMAIN",
  "YXRRSET",
  "NXRRSET",
  "NOTAUTH",
  "NOTZONE",
] as const;
export type RcodeName = (typeof RCODE_NAMES)[number];
