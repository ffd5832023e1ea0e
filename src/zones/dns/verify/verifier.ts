import { messageOf } from "../../../kernel/index.ts";
import { recordKey, setKey, presentedData } from "../provider/change.ts";
import type { ProviderRecord, RecordSetName } from "../provider/port.ts";
import { kindOf, matchRecord } from "./match.ts";
import type { RecordResolver } from "./record-resolver.ts";

/** "failed": no resolver returned a definite answer. */
type RecordState = "right" | "missing" | "wrong" | "failed";

interface RecordFinding {
  record: ProviderRecord;
  /** The worst state among the definite answers. */
  state: RecordState;
  /** For a wrong record: the existing records in master file format. */
  found: string[];
  /** The result of each resolver; `reason` for a failed lookup. */
  seen: { resolver: string; state: RecordState; found: string[]; reason?: string }[];
}

interface Conflict {
  record: ProviderRecord;
  /**
   * "foreignMx": mail would be delivered elsewhere. The other kinds: two such records at one name are invalid (RFC 7208
   * 4.5, RFC 7489 6.6.3).
   */
  kind: "foreignMx" | "secondSpf" | "secondDmarc";
  /** For users: the problem and its fix. */
  message: string;
}

export interface Verification {
  /**
   * The status in the API. "unconfigured": no record exists and nothing conflicts. Undefined if lookups failed and the
   * rest is inconclusive, so the previous status is kept.
   */
  status: "ready" | "misconfigured" | "unconfigured" | undefined;
  records: RecordFinding[];
  conflicts: Conflict[];
}

interface Verifier {
  /** Queries every resolver for every expected record. Never rejects. */
  verify(expected: readonly ProviderRecord[], resolvers: readonly RecordResolver[]): Promise<Verification>;
}

/** Maximum number of concurrent queries in one verification. */
const MAX_CONCURRENT = 8;

type Answer = { resolver: string; records: ProviderRecord[] } | { resolver: string; reason: string };

/** Compares expected records with public DNS, at the zone's own name servers or at public resolvers. */
export function createVerifier(): Verifier {
  return {
    async verify(expected, resolvers) {
      const sets = new Map<string, RecordSetName>(
        expected.map((record) => [setKey(record), { name: record.name, type: record.type }]),
      );
      const answers = new Map<string, Answer[]>([...sets.keys()].map((key) => [key, []]));
      const questions = [...sets].flatMap(([key, set]) => resolvers.map((resolver) => ({ key, set, resolver })));
      await forEachConcurrently(
        questions,
        async ({ key, set, resolver }) => void answers.get(key)!.push(await queryResolver(resolver, set)),
      );
      const order = new Map(resolvers.map(({ name }, index) => [name, index]));
      for (const list of answers.values()) list.sort((a, b) => order.get(a.resolver)! - order.get(b.resolver)!);
      const records = expected.map((record) => findingOf(record, answers.get(setKey(record))!));
      const conflicts = conflictsIn(expected, [...answers.values()].flat());
      return { status: statusOf(records, conflicts), records, conflicts };
    },
  };
}

async function queryResolver(resolver: RecordResolver, { name, type }: RecordSetName): Promise<Answer> {
  try {
    return { resolver: resolver.name, records: await resolver.resolve(name, type) };
  } catch (err) {
    return { resolver: resolver.name, reason: messageOf(err) };
  }
}

async function forEachConcurrently<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const remainingItems = items.values();
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT }, async () => {
      for (const item of remainingItems) await work(item);
    }),
  );
}

const STATES_BY_SEVERITY: RecordState[] = ["wrong", "missing", "right", "failed"];

function findingOf(record: ProviderRecord, answers: readonly Answer[]): RecordFinding {
  const resolverViews = answers.map((answer): RecordFinding["seen"][number] => {
    if ("reason" in answer) return { resolver: answer.resolver, state: "failed", found: [], reason: answer.reason };
    const match = matchRecord(record, answer.records);
    return {
      resolver: answer.resolver,
      state: match.state,
      found: match.state === "wrong" ? match.found.map(presentedData) : [],
    };
  });
  const state =
    STATES_BY_SEVERITY.find((candidate) => resolverViews.some((view) => view.state === candidate)) ?? "failed";
  return {
    record,
    state,
    found: [...new Set(resolverViews.flatMap(({ found: foundValues }) => foundValues))],
    seen: resolverViews,
  };
}

function conflictsIn(expected: readonly ProviderRecord[], answers: readonly Answer[]): Conflict[] {
  const expectedKeys = new Set(expected.map(recordKey));
  const kinds = new Set(expected.map((record) => `${record.name} ${kindOf(record)}`));
  const foundConflicts = new Map<string, Conflict>();
  for (const answer of answers) {
    if ("reason" in answer) continue;
    for (const record of answer.records) {
      const kind = kindOf(record);
      if (!kinds.has(`${record.name} ${kind}`)) continue;
      if (
        kind === "mx" &&
        !expectedKeys.has(recordKey(record)) &&
        !expected.some(
          (candidate) =>
            candidate.type === "MX" && candidate.name === record.name && candidate.content === record.content,
        )
      ) {
        foundConflicts.set(recordKey(record), {
          record,
          kind: "foreignMx",
          message: `The MX record ${presentedData(record)} at ${record.name} sends mail to another host. Remove it.`,
        });
      }
      const rivals = answer.records.filter((other) => kindOf(other) === kind).length;
      if (rivals < 2 || expectedKeys.has(recordKey(record))) continue;
      if (kind === "spf")
        foundConflicts.set(recordKey(record), {
          record,
          kind: "secondSpf",
          message: `${record.name} has ${rivals} SPF records: receivers treat this as a permanent error. Keep one, and merge the mechanisms of ${presentedData(record)} into it.`,
        });
      if (kind === "dmarc")
        foundConflicts.set(recordKey(record), {
          record,
          kind: "secondDmarc",
          message: `${record.name} has ${rivals} DMARC records, so receivers ignore all of them. Keep only one: remove ${presentedData(record)} or the others.`,
        });
    }
  }
  return [...foundConflicts.values()];
}

function statusOf(records: readonly RecordFinding[], conflicts: readonly Conflict[]): Verification["status"] {
  const states = new Set(records.map(({ state }) => state));
  if (conflicts.length > 0 || states.has("wrong")) return "misconfigured";
  const hasAnyRight = records.some(({ seen: resolverViews }) => resolverViews.some(({ state }) => state === "right"));
  if (hasAnyRight && states.has("missing")) return "misconfigured";
  if (states.has("failed")) return undefined;
  return states.has("missing") ? "unconfigured" : "ready";
}
