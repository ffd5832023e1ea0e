import type { Clock } from "../../kernel/index.ts";
import { canonical, impossibleItem } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { MigrationPlan, PlannedItem, Report, RunProgress, MigrationEndpoint, V4Client } from "../port.ts";
import { apiPath, collect, readNumberedPages } from "../requests.ts";
import { applyItems } from "../run.ts";
import { domainOfAlias, type Alias, type AliasTable } from "./read.ts";

interface AliasImportDeps {
  target: MigrationEndpoint;
  table: AliasTable;
  /** The zone for expressions that do not end in a domain. */
  domain?: string | undefined;
  overwrite: boolean;
  /** The operator confirms that the owners of the destination addresses have agreed. */
  keepVerified: boolean;
  clock: Pick<Clock, "now" | "sleep">;
  signal?: AbortSignal;
}

interface Rule {
  id: string;
  name?: string;
  enabled: boolean;
  matchers: { type: string; field?: string; value?: string }[];
  actions: { type: string; value?: string[] }[];
}

interface Zone {
  id: string;
  name: string;
}

/** Turns the entries of an alias table into routing rules and destination addresses. */
export function createAliasImport(deps: AliasImportDeps) {
  const { target, table } = deps;
  return {
    async plan(): Promise<MigrationPlan> {
      const zones = await collect(
        readNumberedPages<Zone>(target.api, "/zones", { query: { "account.id": target.account } }),
      );
      const items = await planDestinations(deps);
      for (const [index, { line, text, reason }] of table.problems.entries())
        items.push(impossibleItem({ kind: "alias", key: `problem ${index}`, name: `line ${line}: ${text}`, reason }));
      const rules = new Map<string, Rule[]>();
      for (const alias of table.aliases) items.push(await planAlias(deps, alias, { zones, rules }));
      return { items, keepsIds: true };
    },
    apply: (plan: MigrationPlan, onProgress?: (progress: RunProgress) => void): Promise<Report> =>
      applyItems(plan.items, deps, { secrets: [], credentials: [], dns: [] }, onProgress ?? (() => {})),
  };
}

async function planDestinations({ target, table, keepVerified }: AliasImportDeps): Promise<PlannedItem[]> {
  const path = `/accounts/${encodeURIComponent(target.account)}/email/routing/addresses`;
  const existing = await collect(readNumberedPages<{ email: string; verified: string | null }>(target.api, path));
  const known = new Set(existing.map(({ email }) => email.toLowerCase()));
  const wanted = new Map(
    table.aliases.flatMap(({ destinations }) => destinations.map((email) => [email.toLowerCase(), email] as const)),
  );
  return [...wanted].map(([key, email]) => ({
    kind: "destination address",
    key: `address ${key}`,
    name: email,
    ...(known.has(key)
      ? { action: "unchanged" as const }
      : {
          action: "new" as const,
          ...(!keepVerified && { losses: ["it must be verified: it receives a message with a link"] }),
          apply: async () => {
            const status = keepVerified ? { status: "verified" } : {};
            await target.api.result("POST", path, { json: { email, ...status } });
          },
        }),
  }));
}

async function planAlias(
  { target, domain: givenDomain, overwrite }: AliasImportDeps,
  alias: Alias,
  { zones, rules }: { zones: readonly Zone[]; rules: Map<string, Rule[]> },
): Promise<PlannedItem> {
  const { type, value, line, enabled, name, destinations } = alias;
  const item = {
    kind: type === "catch-all" ? "catch-all rule" : "routing rule",
    key: `alias ${line}`,
    name: `${type === "catch-all" ? `*@${value}` : value} (line ${line})`,
  };
  const domain = domainOfAlias(alias) ?? givenDomain;
  if (domain === undefined)
    return impossibleItem({ ...item, reason: "its regular expression does not end in a domain; set --domain" });
  const zone = zones
    .filter((one) => domain === one.name || domain.endsWith(`.${one.name}`))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  if (zone === undefined)
    return impossibleItem({
      ...item,
      reason: `no zone of this account contains ${domain}; create it with \`reelpost zone create ${domain}\``,
    });
  if (type === "catch-all" && domain !== zone.name)
    return impossibleItem({ ...item, reason: `a catch-all rule applies to the whole zone ${zone.name}` });
  const path = apiPath`/zones/${zone.id}/email/routing/rules`;
  if (!rules.has(zone.id)) rules.set(zone.id, await rulesOf(target.api, path));
  const matchers = [type === "catch-all" ? { type: "all" } : { type, field: "to", value }];
  const wanted = { name, enabled, matchers, actions: [{ type: "forward", value: destinations }] };
  const existing = rules.get(zone.id)!.find((rule) => matcherKey(rule) === matcherKey(wanted));
  const isUnused = type === "catch-all" && existing?.enabled === false && existing.actions[0]?.type === "drop";
  const apply = async () => {
    if (type === "catch-all") await target.api.result("PUT", `${path}/catch_all`, { json: wanted });
    else if (existing === undefined) await target.api.result("POST", path, { json: wanted });
    else await target.api.result("PUT", path + apiPath`/${existing.id}`, { json: wanted });
  };
  if (existing === undefined || isUnused) return { ...item, action: "new", apply };
  if (canonical(contentOf(existing)) === canonical(contentOf(wanted))) return { ...item, action: "unchanged" };
  if (overwrite) return { ...item, action: "changed", apply };
  return { ...item, action: "kept", reason: "a rule for this address exists; --overwrite replaces it" };
}

/** Throws `incomplete` if Email Routing cannot be read. */
async function rulesOf(api: V4Client, path: string): Promise<Rule[]> {
  const [rules, catchAll] = await Promise.all([
    collect(readNumberedPages<Rule>(api, path)),
    api.result<Rule>("GET", `${path}/catch_all`),
  ]).catch((thrown: unknown) => {
    throw migrateErrors.incomplete({ what: "The routing rules", reason: (thrown as Error).message }, { cause: thrown });
  });
  return [...rules.filter(({ matchers }) => matchers[0]?.type !== "all"), catchAll];
}

const matcherKey = ({ matchers: [matcher] }: Pick<Rule, "matchers">) =>
  `${matcher?.type} ${matcher?.type === "regex" ? matcher.value : (matcher?.value ?? "").toLowerCase()}`;

/** A rule stays disabled until its destination is verified, so `enabled` is not compared. */
const contentOf = ({ actions }: Pick<Rule, "actions">) => actions;
