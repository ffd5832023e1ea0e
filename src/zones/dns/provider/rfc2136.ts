import { randomInt } from "node:crypto";
import { type Clock, messageOf } from "../../../kernel/index.ts";
import {
  type Prerequisite,
  type RecordType,
  rcodeName,
  signMessage,
  type TsigKey,
  type TsigVerdict,
  type UpdateStep,
  verifyReply,
  writeUpdate,
} from "../../../protocol/dns/index.ts";
import { dataOf } from "../../records/content.ts";
import type { RecordDraft, RecordZone } from "../../records/types.ts";
import { checkedChange, type CheckedChange, recordKey, rejectForeign, ttlSeconds, setKey } from "./change.ts";
import { dnsErrors } from "./errors.ts";
import { type DnsEndpoint, exchange } from "./exchange.ts";
import type { DnsProvider, ExclusiveSet, ProviderRecord } from "./port.ts";
import { readRecordSet } from "./read-record-set.ts";

interface Rfc2136Options {
  /** The primary server for the zones. */
  server: DnsEndpoint;
  key: TsigKey;
  clock: Clock;
}

/** Maximum number of attempts if concurrent changes interfere. */
const ATTEMPTS = 3;

/**
 * Records stored on a name server that accepts dynamic updates (RFC 2136) signed with a shared key (RFC 8945), such as
 * Knot, BIND or PowerDNS. The records that were read become prerequisites of the change, so concurrent changes are
 * never overwritten.
 */
export function createRfc2136Provider({ server, key, clock }: Rfc2136Options): DnsProvider {
  const serverAddress = `${server.host}:${server.port}`;

  async function send(message: Buffer, signal?: AbortSignal): Promise<Buffer> {
    try {
      return await exchange(server, message, signal);
    } catch (err) {
      throw dnsErrors.unreachable({ server: serverAddress, reason: messageOf(err) }, { cause: err });
    }
  }

  async function readSets(
    zone: RecordZone,
    sets: readonly { name: string; type: RecordType }[],
    signal?: AbortSignal,
  ): Promise<ProviderRecord[]> {
    const foundRecords: ProviderRecord[] = [];
    for (const set of new Map(sets.map((recordSet) => [setKey(recordSet), recordSet])).values())
      foundRecords.push(
        ...(await readRecordSet((message) => send(message, signal), set, { server: serverAddress, zone: zone.name })),
      );
    return foundRecords;
  }

  async function update(
    zone: RecordZone,
    prerequisites: Prerequisite[],
    steps: UpdateStep[],
    signal?: AbortSignal,
  ): Promise<string> {
    const { signed, mac } = signMessage(
      writeUpdate({ id: randomInt(65_536), zone: zone.name, prerequisites, steps }),
      key,
      clock.now(),
    );
    const reply = await send(signed, signal);
    let verdict: TsigVerdict;
    try {
      verdict = verifyReply(reply, key, mac, clock.now());
    } catch (err) {
      throw dnsErrors.badReply({ server: serverAddress, reason: messageOf(err) }, { cause: err });
    }
    const rcode = rcodeName(reply[3]! & 15);
    if (verdict === "good") return rcode;
    // A server that refuses a request before checking the key does not sign the response.
    if (verdict === "unsigned" && rcode === "REFUSED") return rcode;
    if (verdict === "unsigned" && rcode === "NOTAUTH")
      throw dnsErrors.notServed({ server: serverAddress, zone: zone.name, reason: rcode });
    throw dnsErrors.badKey({ server: serverAddress, key: key.name, reason: KEY_PROBLEMS[verdict] });
  }

  return {
    kind: "rfc2136",
    current: readSets,
    async apply(zone, change, signal) {
      const requestedChange = checkedChange(zone, change);
      const effectiveChange = { ...requestedChange, add: await omitExisting(zone, requestedChange.add, signal) };
      if (effectiveChange.add.length + effectiveChange.remove.length === 0) return;
      for (let attempt = 1; ; attempt++) {
        const existingRecords = await readSets(zone, change.mustBeAbsent, signal);
        rejectForeign(change.mustBeAbsent, existingRecords, requestedChange);
        const rcode = await update(
          zone,
          prerequisitesOf(change.mustBeAbsent, existingRecords, effectiveChange),
          stepsOf(effectiveChange),
          signal,
        );
        if (rcode === "NOERROR") return;
        if (!["YXDOMAIN", "YXRRSET", "NXRRSET", "NXDOMAIN"].includes(rcode))
          throw createRefusal(rcode, serverAddress, zone.name);
        // Either a set has changed since it was read, which the next attempt will see, or the name is already in use.
        const names = await findTakenNames(zone, effectiveChange, signal);
        if (names.length > 0) throw dnsErrors.nameTaken({ names: names.join(", ") });
        if (attempt === ATTEMPTS) throw dnsErrors.changedMeanwhile({ zone: zone.name });
      }
    },
  };

  /** An identical existing CNAME is accepted: the prerequisite for adding one, that its name is free, would fail. */
  async function omitExisting(zone: RecordZone, add: RecordDraft[], signal?: AbortSignal): Promise<RecordDraft[]> {
    const aliases = new Set(
      (
        await readSets(
          zone,
          add.filter(({ type }) => type === "CNAME"),
          signal,
        )
      ).map(recordKey),
    );
    return add.filter((draft) => !aliases.has(recordKey(draft)));
  }

  /**
   * Names at which an existing CNAME blocks an addition, or at which an added CNAME conflicts with existing records.
   */
  async function findTakenNames(zone: RecordZone, { add }: CheckedChange, signal?: AbortSignal): Promise<string[]> {
    const aliases = new Set(
      (
        await readSets(
          zone,
          add.map(({ name }) => ({ name, type: "CNAME" as const })),
          signal,
        )
      ).map(({ name }) => name),
    );
    return [...new Set(add.filter(({ name, type }) => type === "CNAME" || aliases.has(name)).map(({ name }) => name))];
  }
}

const KEY_PROBLEMS: Record<Exclude<TsigVerdict, "good">, string> = {
  unsigned: "its response is not signed",
  forged: "its response is signed with a different secret",
  badSignature: "it has a different secret for this key",
  badKey: "it does not know the key, or the key may not change this zone",
  badTime: "its clock differs from this server's by more than five minutes",
};

function createRefusal(rcode: string, server: string, zone: string): Error {
  if (rcode === "NOTAUTH" || rcode === "NOTZONE") return dnsErrors.notServed({ server, zone, reason: rcode });
  return rcode === "REFUSED"
    ? dnsErrors.refused({ server, zone, reason: rcode })
    : dnsErrors.badReply({ server, reason: `${rcode} for a change of ${zone}` });
}

function prerequisitesOf(
  exclusive: readonly ExclusiveSet[],
  existingRecords: readonly ProviderRecord[],
  { add, remove }: CheckedChange,
): Prerequisite[] {
  const sets = new Map(exclusive.map((set) => [setKey(set), set]));
  const unchangedSets = [...sets.values()].map(({ name, type }): Prerequisite => {
    const data = existingRecords.filter((record) => record.name === name && record.type === type).map(dataOf);
    return data.length === 0 ? { kind: "noSet", name, type } : { kind: "set", name, type, data };
  });
  // A server silently ignores records that conflict with a CNAME and returns NOERROR (RFC 2136 3.4.2.2), so they are
  // checked first.
  const removed = new Set(remove.map(({ name }) => name));
  const names = new Map(add.map(({ name, type }) => [name, type]));
  const places = [...names]
    .filter(([name]) => !removed.has(name))
    .map(([name, type]): Prerequisite =>
      type === "CNAME" ? { kind: "nameFree", name } : { kind: "noSet", name, type: "CNAME" },
    );
  return [...unchangedSets, ...places];
}

const stepsOf = ({ add, remove }: CheckedChange): UpdateStep[] => [
  ...remove.map(({ name, type, ...rest }: RecordDraft): UpdateStep => ({
    kind: "delete",
    name,
    type,
    data: dataOf({ type, ...rest }),
  })),
  ...add.map(({ name, type, ...rest }: RecordDraft): UpdateStep => ({
    kind: "add",
    name,
    type,
    ttl: ttlSeconds(rest),
    data: dataOf({ type, ...rest }),
  })),
];
