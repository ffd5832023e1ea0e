import { hash } from "node:crypto";
import { migrateErrors } from "./errors.ts";
import { hasErrorStatus } from "./requests.ts";
import type { Action, FollowUp, MigrationDeps, PlanItem, PlannedItem, MigrationEndpoint, StoredItem } from "./port.ts";

/** Dependencies of the planners of all resource kinds. */
export interface Context extends MigrationDeps {
  /** `/accounts/<id>` on each side. */
  paths: { source: string; target: string };
  /** True if the target accepts the ids of the source. */
  keepsIds: boolean;
  followUp: FollowUp;
  /** Ids on the target, by kind and id on the source. */
  ids: IdMap;
}

/** Dependencies of functions that only read the source. */
export interface SourceContext extends Pick<MigrationDeps, "source" | "clock" | "signal"> {
  paths: { source: string };
}

type IdKind = "zone" | "kv" | "d1" | "record" | "rule" | "watermark" | "video" | "live";

interface IdMap {
  set(kind: IdKind, sourceId: string, targetId: string): void;
  find(kind: IdKind, sourceId: string): string | undefined;
  /** Throws parentMissing. */
  require(kind: IdKind, sourceId: string, what: string): string;
}

export function createIdMap(state: MigrationDeps["state"]): IdMap {
  const known = new Map<string, string>();
  const keyOf = (kind: IdKind, id: string) => `id ${kind} ${id}`;
  const find = (kind: IdKind, id: string) => known.get(keyOf(kind, id)) ?? state.idOf(keyOf(kind, id));
  return {
    find,
    set(kind, sourceId, targetId) {
      known.set(keyOf(kind, sourceId), targetId);
      if (sourceId !== targetId && state.idOf(keyOf(kind, sourceId)) !== targetId)
        state.put([[keyOf(kind, sourceId), { id: targetId }]]);
    },
    require(kind, sourceId, what) {
      const id = find(kind, sourceId);
      if (id === undefined) throw migrateErrors.parentMissing({ what });
      return id;
    },
  };
}

export const accountPath = ({ account }: MigrationEndpoint): string => `/accounts/${encodeURIComponent(account)}`;

/** JSON with sorted field names and without undefined fields, for comparisons. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

export const digestOfItem = (value: unknown): string => hash("sha256", canonical(value), "hex").slice(0, 32);

const KEPT = "it differs on this server and was not imported; --overwrite replaces it";

/** Compares an item of the source with its counterpart on the target; both in the same form. */
export function compareItem(
  { state, options }: Pick<Context, "state" | "options">,
  key: string,
  { source, target }: { source: unknown; target: unknown },
): { action: Action; reason?: string; digest: string } {
  const digest = digestOfItem(source);
  if (target === undefined) return { action: "new", digest };
  if (digestOfItem(target) === digest) return { action: "unchanged", digest };
  const stored = state.get(key);
  if (stored === undefined)
    return options.overwrite ? { action: "changed", digest } : { action: "kept", reason: KEPT, digest };
  return { action: stored.digest === digest ? "unchanged" : "changed", digest };
}

interface Described extends Omit<PlanItem, "action" | "reason"> {
  source: unknown;
  /** Undefined if it does not exist. */
  target: unknown;
  apply: NonNullable<PlannedItem["apply"]>;
}

/** Returns a plan item that is imported as a whole, with its progress recorded in the state. */
export function plannedItem(context: Context, { source, target, apply, ...item }: Described): PlannedItem {
  const { digest, ...decision } = compareItem(context, item.key, { source, target });
  if (decision.action !== "new" && decision.action !== "changed") return { ...item, ...decision };
  return { ...item, ...decision, apply: withProgressRecord(context, item.key, digest, apply) };
}

/** Records the start and the end, so that an interrupted import can be resumed. */
export function withProgressRecord(
  { state }: Pick<Context, "state">,
  key: string,
  digest: string,
  apply: NonNullable<PlannedItem["apply"]>,
): NonNullable<PlannedItem["apply"]> {
  return async (progress) => {
    const { digest: _, ...before } = state.get(key) ?? {};
    state.put([[key, before satisfies StoredItem]]);
    await apply(progress);
    state.put([[key, { digest }]]);
  };
}

export const impossibleItem = (item: Omit<PlanItem, "action">): PlannedItem => ({ ...item, action: "impossible" });

/** A refusal affects only one part of the account, which the plan then reports as impossible. */
export async function unlessRefused(what: string, make: () => Promise<PlannedItem[]>): Promise<PlannedItem[]> {
  try {
    return await make();
  } catch (thrown) {
    if (!hasErrorStatus(thrown, 401, 403)) throw thrown;
    return [
      impossibleItem({
        kind: "part of the account",
        key: `access ${what}`,
        name: what,
        reason: `access was refused: ${thrown.message}; the API token may lack a permission`,
      }),
    ];
  }
}
