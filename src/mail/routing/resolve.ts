import type { Clock } from "../../kernel/index.ts";
import { matchRecipient, type MatchTable } from "./match.ts";
import type { RoutingDeps } from "./deps.ts";
import { readRecipient, type Recipient } from "../recipient.ts";
import type { TablesCache } from "./tables-cache.ts";
import type { Resolution } from "./types.ts";

interface ResolveDeps extends Pick<RoutingDeps, "scripts" | "addresses"> {
  clock: Pick<Clock, "now">;
  tables: TablesCache;
  /** The operator's address for mail to postmaster and abuse that matches no rule. */
  postmaster?: string | undefined;
}

/**
 * How long the existence of a worker is cached: a new worker is found within this time, and calling a deleted one fails
 * anyway.
 */
const WORKER_TTL_MS = 2000;
const MAX_CACHED_WORKERS = 2000;

/**
 * Determines the route of a recipient's mail. Rules for the whole address come first, then, with subaddressing, those
 * for the address without its tag, then the catch-all rule.
 *
 * RFC 5321 4.5.1: postmaster is accepted for every routed domain, case-insensitively. If it has no rule, the mail goes
 * to the catch-all rule, then to the operator's address, then to the account's first verified destination address;
 * without any of these it is accepted and dropped, which appears in the message log. Mail to the bare `postmaster` goes
 * to the operator's address or is dropped. Mail to abuse (RFC 2142 2) goes to the operator's address if there is one,
 * because the operator handles complaints about spam.
 */
export function createResolve({
  scripts,
  addresses,
  clock,
  tables,
  postmaster,
}: ResolveDeps): (recipient: string) => Promise<Resolution> {
  const workers = new Map<string, { there: boolean; until: number }>();

  async function workerExists(account: string, name: string): Promise<boolean> {
    const key = `${account}/${name}`;
    const cachedWorker = workers.get(key);
    if (cachedWorker !== undefined && cachedWorker.until > clock.now()) return cachedWorker.there;
    const isDeployed = (await scripts.get(account, name))?.live !== undefined;
    workers.delete(key);
    if (workers.size >= MAX_CACHED_WORKERS) workers.delete(workers.keys().next().value!);
    workers.set(key, { there: isDeployed, until: clock.now() + WORKER_TTL_MS });
    return isDeployed;
  }

  async function resolveRule(recipient: Recipient, table: MatchTable, isReloaded = false): Promise<Resolution> {
    const match = matchRecipient(table, recipient);
    if (match === undefined) return resolveUnmatched(recipient, table);
    const { rule, why } = match;
    const { action, account } = rule;
    const ruleContext = { why, zone: rule.zone, account, rule: { id: rule.id, name: rule.name } };
    if (action.type === "drop") return { kind: "drop", ...ruleContext };
    if (action.type === "forward") return { kind: "forward", to: [...action.value], ...ruleContext };
    const worker = { kind: "worker" as const, script: `${account}/${action.value[0]!}`, ...ruleContext };
    if (await workerExists(account, action.value[0]!)) return worker;
    // The worker may have been renamed since the rules were read.
    const current = isReloaded ? undefined : await tables.reload(recipient.domain);
    return current === undefined
      ? { ...worker, why: "worker missing", temporary: true }
      : resolveRule(recipient, current, true);
  }

  async function resolveUnmatched({ local }: Recipient, table: MatchTable): Promise<Resolution> {
    const ruleContext = { zone: table.zone.id, account: table.zone.account };
    if (local !== "postmaster" && (local !== "abuse" || postmaster === undefined))
      return { kind: "none", why: "no rule", ...ruleContext };
    const to = postmaster ?? (await addresses.firstVerified(table.zone.account));
    return to === undefined
      ? { kind: "drop", why: "postmaster", ...ruleContext }
      : { kind: "forward", to: [to], why: "postmaster", ...ruleContext };
  }

  return async (text) => {
    const recipient = readRecipient(text);
    if (recipient === undefined) return { kind: "none", why: "not an address" };
    if (recipient.domain === "")
      return postmaster === undefined
        ? { kind: "drop", why: "postmaster" }
        : { kind: "forward", to: [postmaster], why: "postmaster" };
    const cachedTable = tables.getCached(recipient.domain);
    const table = cachedTable === undefined ? await tables.find(recipient.domain) : cachedTable.table;
    if (table === undefined) return { kind: "none", why: "not our domain" };
    return resolveRule(recipient, table);
  };
}
