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
const WORKER_MS = 2000;
const MAX_WORKERS = 2000;

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

  async function workerThere(account: string, name: string): Promise<boolean> {
    const key = `${account}/${name}`;
    const found = workers.get(key);
    if (found !== undefined && found.until > clock.now()) return found.there;
    const there = (await scripts.get(account, name))?.live !== undefined;
    workers.delete(key);
    if (workers.size >= MAX_WORKERS) workers.delete(workers.keys().next().value!);
    workers.set(key, { there, until: clock.now() + WORKER_MS });
    return there;
  }

  async function follow(recipient: Recipient, table: MatchTable, isReloaded = false): Promise<Resolution> {
    const match = matchRecipient(table, recipient);
    if (match === undefined) return unmatched(recipient, table);
    const { rule, why } = match;
    const { action, account } = rule;
    const about = { why, zone: rule.zone, account, rule: { id: rule.id, name: rule.name } };
    if (action.type === "drop") return { kind: "drop", ...about };
    if (action.type === "forward") return { kind: "forward", to: [...action.value], ...about };
    const worker = { kind: "worker" as const, script: `${account}/${action.value[0]!}`, ...about };
    if (await workerThere(account, action.value[0]!)) return worker;
    // The worker may have been renamed since the rules were read.
    const current = isReloaded ? undefined : await tables.reload(recipient.domain);
    return current === undefined
      ? { ...worker, why: "worker missing", temporary: true }
      : follow(recipient, current, true);
  }

  async function unmatched({ local }: Recipient, table: MatchTable): Promise<Resolution> {
    const about = { zone: table.zone.id, account: table.zone.account };
    if (local !== "postmaster" && (local !== "abuse" || postmaster === undefined))
      return { kind: "none", why: "no rule", ...about };
    const to = postmaster ?? (await addresses.firstVerified(table.zone.account));
    return to === undefined
      ? { kind: "drop", why: "postmaster", ...about }
      : { kind: "forward", to: [to], why: "postmaster", ...about };
  }

  return async (text) => {
    const recipient = readRecipient(text);
    if (recipient === undefined) return { kind: "none", why: "not an address" };
    if (recipient.domain === "")
      return postmaster === undefined
        ? { kind: "drop", why: "postmaster" }
        : { kind: "forward", to: [postmaster], why: "postmaster" };
    const known = tables.getCached(recipient.domain);
    const table = known === undefined ? await tables.find(recipient.domain) : known.table;
    if (table === undefined) return { kind: "none", why: "not our domain" };
    return follow(recipient, table);
  };
}
