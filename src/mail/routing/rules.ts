import { offsetOf, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Zone } from "../../zones/index.ts";
import { addressByKey, type AddressExecutor, type AddressTables } from "../addresses/index.ts";
import { routingErrors } from "./errors.ts";
import type { RoutingDeps } from "./deps.ts";
import { isPattern, MAX_PATTERNS } from "./patterns.ts";
import { checkRule, MAX_PRIORITY, type ValidatedRule } from "./rule-check.ts";
import {
  catchAllId,
  catchAllRule,
  countPatterns,
  countRules,
  deleteRule,
  destinationsOf,
  upsertRule,
  ruleById,
  rulesOf,
  rulesOfAccount,
  pageOfRules,
  type AccountRuleQuery,
  type ZoneRuleQuery,
} from "./rules-table.ts";
import type { RoutingExecutor, RoutingTables } from "./tables.ts";
import type { RuleAction, Rule, RuleRequest } from "./types.ts";

export interface Rules {
  /** Includes the catch-all rule, which comes last. */
  list(zone: Zone, query: ZoneRuleQuery, page: PageRequest): Promise<Page<Rule>>;
  /** Rules in the order of creation. Includes a catch-all rule if it was ever changed. */
  ofAccount(account: string, query: AccountRuleQuery, page: PageRequest): Promise<Page<Rule>>;
  /** Throws noRule, and invalidOperation for the catch-all rule. */
  get(zone: Zone, id: string): Promise<Rule>;
  /**
   * Throws invalidInput, invalidOperation, notVerified, unknownWorker, tooManyRules. A rule that forwards to an
   * unverified address is created, but disabled until the address is verified.
   */
  create(zone: Zone, request: RuleRequest): Promise<Rule>;
  /** Omitted fields get their defaults. Throws the same errors as create, and noRule. */
  replace(zone: Zone, id: string, request: RuleRequest): Promise<Rule>;
  /**
   * Puts these rules first, in this order; all others follow in their previous order. Resolves with all rules but the
   * catch-all rule. Throws noRule, invalidInput for a repeated id, invalidOperation for the catch-all rule.
   */
  reorder(zone: Zone, ids: readonly string[]): Promise<Rule[]>;
  /** Throws noRule, invalidOperation. */
  delete(zone: Zone, id: string): Promise<Rule>;
  catchAll(zone: Zone): Promise<Rule>;
  replaceCatchAll(zone: Zone, request: RuleRequest): Promise<Rule>;
}

export function createRules({ db, clock, ids, scripts, limits, extended, notifyChanged }: RoutingDeps): Rules {
  const tables = db.tables<RoutingTables>();

  async function requireRule(zone: Zone, id: string): Promise<Rule> {
    if (id === catchAllId(zone.id)) throw routingErrors.invalidOperation();
    const rule = await ruleById(tables, zone.id, id);
    if (rule === undefined) throw routingErrors.noRule();
    return rule;
  }

  /** Throws unknownWorker. */
  async function checkWorkers({ account }: Zone, { action, owner }: ValidatedRule): Promise<void> {
    if (owner !== null && (await scripts.byId(account, owner)) === undefined)
      throw routingErrors.unknownWorker({ worker: owner });
    if (action.type === "worker" && (await scripts.get(account, action.value[0]!)) === undefined)
      throw routingErrors.unknownWorker({ worker: action.value[0] });
  }

  /**
   * Writes a rule at the position returned by `find`, in one transaction with the check of its destination, which may
   * be deleted at any time.
   */
  async function saveRule(
    zone: Zone,
    request: RuleRequest,
    catchAll: boolean,
    find: (tx: RoutingExecutor) => Promise<Pick<Rule, "id" | "createdAt">>,
  ): Promise<Rule> {
    const parts = checkRule(request, { zone: zone.name, catchAll, extended });
    await checkWorkers(zone, parts);
    const rule = await db.transaction<RoutingTables & AddressTables, Rule>(async (tx) => {
      const isAwaitingVerification = await isUnverified(tx as unknown as AddressExecutor, zone.account, parts.action);
      const { id, createdAt } = await find(tx);
      if (isPattern(parts.matcher)) await checkPatternCount(tx, zone, id);
      const kept: Rule = {
        ...parts,
        id,
        zone: zone.id,
        account: zone.account,
        enabled: parts.enabled && !isAwaitingVerification,
        awaiting: parts.enabled && isAwaitingVerification,
        createdAt,
        modifiedAt: clock.now(),
      };
      await upsertRule(tx, kept);
      return kept;
    });
    notifyChanged(zone.id);
    return rule;
  }

  /** Throws tooManyPatterns if the rule would exceed the limit. */
  async function checkPatternCount(tx: RoutingExecutor, zone: Zone, id: string): Promise<void> {
    const before = await ruleById(tx, zone.id, id);
    const otherPatternCount =
      (await countPatterns(tx, zone.id)) - Number(before !== undefined && isPattern(before.matcher));
    if (otherPatternCount >= MAX_PATTERNS) throw routingErrors.tooManyPatterns({ limit: MAX_PATTERNS });
  }

  const initialCatchAll = (zone: Zone): Rule => ({
    id: catchAllId(zone.id),
    zone: zone.id,
    account: zone.account,
    name: "",
    enabled: false,
    awaiting: false,
    priority: MAX_PRIORITY,
    matcher: { type: "all" },
    action: { type: "drop" },
    source: "api",
    owner: null,
    createdAt: zone.createdAt,
    modifiedAt: zone.createdAt,
  });

  async function catchAll(zone: Zone): Promise<Rule> {
    return (await ruleById(tables, zone.id, catchAllId(zone.id))) ?? initialCatchAll(zone);
  }

  return {
    async list(zone, query, page) {
      const { items, total } = await pageOfRules(tables, zone.id, query, page);
      const last = (await catchAllRule(tables, zone.id)) ?? initialCatchAll(zone);
      if (query.enabled !== undefined && last.enabled !== query.enabled) return { items, total };
      const offset = offsetOf(page);
      return { items: total >= offset && total < offset + page.perPage ? [...items, last] : items, total: total + 1 };
    },
    ofAccount: (account, query, page) => rulesOfAccount(tables, account, query, page),
    get: requireRule,
    create: (zone, request) =>
      saveRule(zone, request, false, async (tx) => {
        if ((await countRules(tx, zone.id)) >= limits.rules) throw routingErrors.tooManyRules({ limit: limits.rules });
        return { id: ids.hex(), createdAt: clock.now() };
      }),
    async replace(zone, id, request) {
      await requireRule(zone, id);
      return saveRule(zone, request, false, async (tx) => {
        const before = await ruleById(tx, zone.id, id);
        if (before === undefined) throw routingErrors.noRule();
        return before;
      });
    },
    async reorder(zone, ruleIds) {
      if (new Set(ruleIds).size < ruleIds.length)
        throw routingErrors.invalidInput({ reason: "A rule is listed more than once." });
      const ordered = await db.transaction<RoutingTables, Rule[]>(async (tx) => {
        const before = (await rulesOf(tx, zone.id)).filter(({ matcher }) => matcher.type !== "all");
        const byId = new Map(before.map((rule) => [rule.id, rule]));
        const first = ruleIds.map((id) => {
          if (id === catchAllId(zone.id)) throw routingErrors.invalidOperation();
          const rule = byId.get(id);
          if (rule === undefined) throw routingErrors.noRule();
          byId.delete(id);
          return rule;
        });
        const now = clock.now();
        const after = [...first, ...byId.values()].map((rule, priority) =>
          rule.priority === priority ? rule : { ...rule, priority, modifiedAt: now },
        );
        for (const rule of after) if (rule.modifiedAt === now) await upsertRule(tx, rule);
        return after;
      });
      notifyChanged(zone.id);
      return ordered;
    },
    async delete(zone, id) {
      const rule = await requireRule(zone, id);
      if (!(await db.transaction<RoutingTables, boolean>((tx) => deleteRule(tx, id)))) throw routingErrors.noRule();
      notifyChanged(zone.id);
      return rule;
    },
    catchAll,
    replaceCatchAll: (zone, request) =>
      saveRule(
        zone,
        request,
        true,
        async (tx) => (await ruleById(tx, zone.id, catchAllId(zone.id))) ?? initialCatchAll(zone),
      ),
  };
}

/**
 * Resolves with true if a destination of the rule is unverified. Throws notVerified if the account does not have the
 * address.
 */
async function isUnverified(tx: AddressExecutor, account: string, action: RuleAction): Promise<boolean> {
  let hasUnverified = false;
  for (const destination of destinationsOf(action)) {
    const address = await addressByKey(tx, account, destination);
    if (address === undefined) throw routingErrors.notVerified({ address: destination });
    hasUnverified ||= address.verifiedAt === null;
  }
  return hasUnverified;
}

export const isSameAction = (a: RuleAction, b: RuleAction): boolean =>
  a.type === b.type &&
  (a.type === "drop" ||
    b.type === "drop" ||
    (a.value.length === b.value.length && a.value.every((otherRule, i) => otherRule === b.value[i])));
