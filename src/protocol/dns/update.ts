import { type WireRecord, writeMessage } from "./message.ts";
import type { RecordData } from "./record-data.ts";
import { type RecordType, typeNumber } from "./record-types.ts";
import { writeRecordData } from "./wire-data-write.ts";
import type { WireWriter } from "./wire-writer.ts";

/** Condition of an update; if it fails, nothing changes (RFC 2136 2.4). */
export type Prerequisite =
  | { kind: "noSet"; name: string; type: RecordType }
  /** The set has exactly these records, regardless of their TTL. */
  | { kind: "set"; name: string; type: RecordType; data: RecordData[] }
  | { kind: "nameFree"; name: string };

/** RFC 2136 2.5. */
export type UpdateStep =
  | { kind: "add"; name: string; type: RecordType; ttl: number; data: RecordData }
  | { kind: "delete"; name: string; type: RecordType; data: RecordData };

interface Update {
  id: number;
  /** Zone name in normal form. */
  zone: string;
  prerequisites: readonly Prerequisite[];
  steps: readonly UpdateStep[];
}

const UPDATE = 5;
/** Class NONE. */
const CLASS_NONE = 254;
const TYPE_ANY = 255;

/** Writes a message of opcode UPDATE. Throws MessageTooLarge. */
export const writeUpdate = ({ id, zone, prerequisites, steps }: Update): Buffer =>
  writeMessage({
    id,
    flags: UPDATE << 11,
    questions: [{ name: zone, type: typeNumber("SOA") }],
    answers: prerequisites.flatMap(conditionsOf),
    authorities: steps.map((step): WireRecord => {
      const { name, type } = step;
      const write = (out: WireWriter) => writeRecordData(type, step.data, out);
      return step.kind === "add"
        ? { name, type: typeNumber(type), ttl: step.ttl, write }
        : { name, type: typeNumber(type), class: CLASS_NONE, ttl: 0, write };
    }),
  });

function conditionsOf(prerequisite: Prerequisite): WireRecord[] {
  if (prerequisite.kind === "nameFree") return [{ name: prerequisite.name, type: TYPE_ANY, class: CLASS_NONE, ttl: 0 }];
  const type = typeNumber(prerequisite.type);
  return prerequisite.kind === "noSet"
    ? [{ name: prerequisite.name, type, class: CLASS_NONE, ttl: 0 }]
    : prerequisite.data.map((data) => ({
        name: prerequisite.name,
        type,
        ttl: 0,
        write: (out) => writeRecordData(prerequisite.type, data, out),
      }));
}
