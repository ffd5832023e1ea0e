import type { Zone } from "../../zones/index.ts";
import { routingErrors } from "./errors.ts";
import { rowsByName } from "./names-table.ts";
import type { RoutingDeps } from "./deps.ts";
import { recipientKey, readRecipient } from "../recipient.ts";
import { checkAction, checkMatcher } from "./rule-check.ts";
import { rulesOf, rulesOwnedBy, targetOf } from "./rules-table.ts";
import { isSameAction, type Rules } from "./rules.ts";
import type { RoutingTables } from "./tables.ts";
import type { RuleAction, Rule, RuleRequest } from "./types.ts";

/** The addresses in a worker's configuration file. */
export interface PlanRequest {
  /** Stable id of the worker. */
  owner: string;
  rules: Pick<RuleRequest, "matchers" | "actions" | "enabled">[];
  catchAll: { target: string; rule: Pick<RuleRequest, "matchers" | "actions" | "enabled"> }[];
  /** Zones that the caller may not read; they are treated as nonexistent. */
  hidden?: readonly string[];
}

export interface PlannedChange {
  /** `conflict` means that the address has a rule of another owner. */
  type: "added" | "updated" | "deleted" | "conflict";
  /** A normalized address, or `*@<zone>`. */
  target: string;
  /** The existing rule. */
  remote?: Rule & { ownerName?: string };
}

export interface PlannedZone {
  id: string;
  name: string;
  changes: PlannedChange[];
}

interface RequestedRule {
  target: string;
  catchAll: boolean;
  action: RuleAction;
  enabled: boolean;
}

/** Maximum number of addresses in one configuration file. */
const MAX_REQUESTED_RULES = 1000;
/** Order of changes within a plan. */
const CHANGE_ORDER = ["added", "updated", "conflict", "deleted"];

/**
 * Returns the changes needed to make a worker's rules match its configuration file. Changes nothing. Throws
 * invalidInput, unknownWorker, unknownDomain.
 */
export function createPlanner(
  { db, zones, scripts }: RoutingDeps,
  rules: Rules,
): (account: string, request: PlanRequest) => Promise<PlannedZone[]> {
  const tables = db.tables<RoutingTables>();

  /** Returns the zone of the account in which mail for this domain is routed. */
  async function routedZoneOf(account: string, domain: string, hiddenNames: readonly string[]): Promise<Zone> {
    for (const { zone: id, enabled, account: owner } of await rowsByName(tables, domain)) {
      const zone = enabled && owner === account && !hiddenNames.includes(id) ? await zones.find(id) : undefined;
      if (zone !== undefined) return zone;
    }
    throw routingErrors.unknownDomain({ name: domain });
  }

  async function wanted(
    account: string,
    { rules: literalRules, catchAll, hidden: hiddenNames = [] }: PlanRequest,
  ): Promise<Map<Zone, RequestedRule[]>> {
    const groupsByZone = new Map<string, { zone: Zone; wanted: RequestedRule[] }>();
    const seen = new Set<string>();
    const addRule = (zone: Zone, requestedRule: RequestedRule) => {
      if (seen.has(requestedRule.target))
        throw routingErrors.invalidInput({ reason: `${requestedRule.target} is listed twice.` });
      seen.add(requestedRule.target);
      const group = groupsByZone.getOrInsertComputed(zone.id, () => ({ zone, wanted: [] }));
      group.wanted.push(requestedRule);
    };
    for (const { matchers, actions, enabled = true } of literalRules) {
      const recipient = readRecipient((matchers[0]?.value ?? "").trim());
      if (recipient === undefined || recipient.domain === "")
        throw routingErrors.invalidInput({ reason: `${JSON.stringify(matchers[0]?.value ?? "")} is not an address.` });
      const zone = await routedZoneOf(account, recipient.domain, hiddenNames);
      checkMatcher(matchers, zone.name, false);
      addRule(zone, { target: recipientKey(recipient), catchAll: false, action: checkAction(actions), enabled });
    }
    for (const { target, rule } of catchAll) {
      const domain = /^\*@(.+)$/.exec(target.trim().toLowerCase())?.[1];
      const name = domain === undefined ? undefined : readRecipient(`any@${domain}`)?.domain;
      if (name === undefined)
        throw routingErrors.invalidInput({
          reason: `The target of a catch-all rule must have the form *@example.com, not ${JSON.stringify(target)}.`,
        });
      const zone = await routedZoneOf(account, name, hiddenNames);
      // Names under the zone's own name support only rules for single addresses.
      if (zone.name !== name) throw routingErrors.unknownDomain({ name: `*@${name}` });
      checkMatcher(rule.matchers, zone.name, true);
      addRule(zone, {
        target: `*@${name}`,
        catchAll: true,
        action: checkAction(rule.actions),
        enabled: rule.enabled ?? true,
      });
    }
    return new Map([...groupsByZone.values()].map(({ zone, wanted }) => [zone, wanted]));
  }

  async function changesIn(zone: Zone, wanted: readonly RequestedRule[], owner: string): Promise<PlannedChange[]> {
    const existingRules = await rulesOf(tables, zone.id);
    const catchAll = await rules.catchAll(zone);
    const changes = wanted.map(({ target, catchAll: isCatchAll, action, enabled }): PlannedChange | undefined => {
      const candidates = isCatchAll ? [catchAll] : existingRules.filter(({ matcher }) => targetOf(matcher) === target);
      const remote = candidates.find((rule) => rule.owner === owner) ?? candidates[0];
      if (remote === undefined || isUntouched(remote)) return { type: "added", target };
      if (remote.owner !== owner) return { type: "conflict", target, remote };
      return isSameAction(remote.action, action) && remote.enabled === enabled
        ? undefined
        : { type: "updated", target, remote };
    });
    return changes.filter((change) => change !== undefined);
  }

  return async (account, request) => {
    if ((await scripts.byId(account, request.owner)) === undefined)
      throw routingErrors.unknownWorker({ worker: request.owner });
    if (request.rules.length + request.catchAll.length > MAX_REQUESTED_RULES)
      throw routingErrors.invalidInput({ reason: `A Worker can have at most ${MAX_REQUESTED_RULES} addresses.` });
    const groups = await wanted(account, request);
    const planned = new Map<string, PlannedZone>();
    const group = (zone: Zone) =>
      planned.getOrInsertComputed(zone.id, () => ({ id: zone.id, name: zone.name, changes: [] }));
    for (const [zone, list] of groups) group(zone).changes.push(...(await changesIn(zone, list, request.owner)));

    const targets = new Set([...groups.values()].flat().map(({ target }) => target));
    for (const rule of await rulesOwnedBy(tables, account, request.owner)) {
      const zone = request.hidden?.includes(rule.zone) === true ? undefined : await zones.find(rule.zone);
      if (zone === undefined) continue;
      const target = targetOf(rule.matcher) ?? `*@${zone.name}`;
      if (!targets.has(target)) group(zone).changes.push({ type: "deleted", target, remote: rule });
    }
    const namedZones = await Promise.all(
      [...planned.values()]
        .filter(({ changes }) => changes.length > 0)
        .map(async (zone) => ({
          ...zone,
          changes: await Promise.all(zone.changes.map((change) => withOwner(account, change))),
        })),
    );
    for (const { changes } of namedZones)
      changes.sort((a, b) => CHANGE_ORDER.indexOf(a.type) - CHANGE_ORDER.indexOf(b.type));
    return namedZones.sort((a, b) => (a.name < b.name ? -1 : 1));
  };

  async function withOwner(account: string, change: PlannedChange): Promise<PlannedChange> {
    const owner = change.remote?.owner;
    const script = owner == null ? undefined : await scripts.byId(account, owner);
    return script === undefined ? change : { ...change, remote: { ...change.remote!, ownerName: script.name } };
  }
}

/** True for a catch-all rule in its initial state, without an owner. */
const isUntouched = ({ matcher, action, enabled, source }: Rule) =>
  matcher.type === "all" && action.type === "drop" && !enabled && source === "api";
