import { impossibleItem, plannedItem, type Context } from "../context.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, collect, hasErrorStatus, readNumberedPages, resultIfFound } from "../requests.ts";
import type { SourceZone } from "./zone.ts";

interface RoutingSettings {
  enabled?: boolean;
  skip_wizard?: boolean;
  support_subaddress?: boolean;
  subdomains?: { name: string; enabled?: boolean }[];
}

interface Rule {
  id?: string;
  tag?: string;
  name?: string | null;
  enabled?: boolean;
  priority?: number;
  matchers: { type: string; field?: string; value?: string }[];
  actions: { type: string; value?: string[] }[];
}

const MATCHERS = new Set(["literal", "glob", "regex", "all"]);
const ACTIONS = new Set(["forward", "worker", "drop"]);

/** Plans the import of the Email Routing settings, routing rules and catch-all rule of one zone. */
export async function planRouting(context: Context, zone: SourceZone): Promise<PlannedItem[]> {
  const { source, target, ids } = context;
  const sourcePath = apiPath`/zones/${zone.id}/email/routing`;
  const settings = await source.api.result<RoutingSettings>("GET", sourcePath).catch((thrown: unknown) => {
    // Email Routing has never been enabled for this zone.
    if (hasErrorStatus(thrown, 404)) return undefined;
    throw thrown;
  });
  if (settings === undefined) return [];
  const targetZone = ids.find("zone", zone.id);
  const targetPath = targetZone === undefined ? undefined : apiPath`/zones/${targetZone}/email/routing`;
  const [rules, catchAll, existing, existingCatchAll, existingSettings] = await Promise.all([
    rulesOf(source.api, sourcePath),
    resultIfFound<Rule>(source.api, `${sourcePath}/rules/catch_all`),
    targetPath === undefined ? [] : rulesOf(target.api, targetPath),
    targetPath === undefined ? undefined : resultIfFound<Rule>(target.api, `${targetPath}/rules/catch_all`),
    targetPath === undefined ? undefined : resultIfFound<RoutingSettings>(target.api, targetPath),
  ]);
  const match = createMatcher(context, existing);
  return [
    ...planSettings(context, zone, settings, existingSettings),
    ...rules.map((rule) => planRule(context, zone, rule, match(rule))),
    ...(catchAll === undefined ? [] : planCatchAll(context, zone, catchAll, existingCatchAll)),
  ];
}

const rulesOf = async (api: Context["source"]["api"], path: string): Promise<Rule[]> =>
  (await collect(readNumberedPages<Rule>(api, `${path}/rules`))).filter(({ matchers }) => matchers[0]?.type !== "all");

const pathOfZone = ({ ids }: Context, zone: SourceZone) =>
  apiPath`/zones/${ids.require("zone", zone.id, `The zone ${zone.name}`)}/email/routing`;

function planSettings(
  context: Context,
  zone: SourceZone,
  settings: RoutingSettings,
  existing: RoutingSettings | undefined,
): PlannedItem[] {
  const item = { kind: "Email Routing settings", key: `routing ${zone.id}`, name: zone.name };
  const shown = ({ enabled = false, support_subaddress = false, subdomains = [] }: RoutingSettings) => ({
    enabled,
    support_subaddress,
    subdomains: subdomains
      .filter((subdomain) => subdomain.enabled !== false)
      .map(({ name }) => name)
      .sort(),
  });
  const wanted = shown(settings);
  if (existing === undefined && !wanted.enabled && wanted.subdomains.length === 0) return [];
  return [
    plannedItem(context, {
      ...item,
      source: wanted,
      target: existing && (existing.enabled === true || !wanted.enabled ? shown(existing) : undefined),
      async apply() {
        const { api } = context.target;
        const path = pathOfZone(context, zone);
        if (wanted.enabled) await api.result("POST", `${path}/dns`, { json: {} });
        for (const name of wanted.subdomains) await api.result("POST", `${path}/dns`, { json: { name } });
        await api.result("PATCH", path, { json: { support_subaddress: wanted.support_subaddress } });
      },
    }),
  ];
}

function planRule(context: Context, zone: SourceZone, rule: Rule, existing: Rule | undefined): PlannedItem {
  const id = idOf(rule);
  const item = { kind: "routing rule", key: `rule ${zone.id} ${id}`, name: `${zone.name}: ${describe(rule)}` };
  const problem = problemOf(rule);
  if (problem !== undefined) return impossibleItem({ ...item, reason: problem });
  const wanted = { ...contentOf(rule), priority: rule.priority ?? 0 };
  return plannedItem(context, {
    ...item,
    source: wanted,
    target: existing && { ...contentOf(existing), priority: existing.priority ?? 0 },
    async apply() {
      const path = `${pathOfZone(context, zone)}/rules`;
      const { api } = context.target;
      const made =
        existing === undefined
          ? await api.result<Rule>("POST", path, { json: wanted })
          : await api.result<Rule>("PUT", path + apiPath`/${idOf(existing)}`, { json: wanted });
      context.ids.set("rule", id, idOf(made));
    },
  });
}

function planCatchAll(context: Context, zone: SourceZone, rule: Rule, existing: Rule | undefined): PlannedItem[] {
  const item = { kind: "catch-all rule", key: `catch-all ${zone.id}`, name: zone.name };
  const problem = problemOf(rule);
  if (problem !== undefined) return [impossibleItem({ ...item, reason: problem })];
  const wanted = contentOf(rule);
  // Every zone has a catch-all rule, which drops mail and is disabled at first.
  const isInitial = existing !== undefined && existing.enabled !== true && existing.actions[0]?.type === "drop";
  if (wanted.enabled === false && wanted.actions[0]?.type === "drop" && (existing === undefined || isInitial))
    return [];
  return [
    plannedItem(context, {
      ...item,
      source: wanted,
      target: existing === undefined || isInitial ? undefined : contentOf(existing),
      async apply() {
        await context.target.api.result("PUT", `${pathOfZone(context, zone)}/rules/catch_all`, { json: wanted });
      },
    }),
  ];
}

/** Finds the rule imported earlier, or else the first one with the same matcher; each rule is used only once. */
function createMatcher({ ids }: Context, rules: readonly Rule[]) {
  const left = new Map(rules.map((rule) => [idOf(rule), rule]));
  return (rule: Rule): Rule | undefined => {
    const matcher = JSON.stringify(contentOf(rule).matchers);
    const found =
      left.get(ids.find("rule", idOf(rule)) ?? "") ??
      [...left.values()].find((other) => JSON.stringify(contentOf(other).matchers) === matcher);
    if (found !== undefined) left.delete(idOf(found));
    return found;
  };
}

const idOf = ({ tag, id }: Rule): string => tag ?? id ?? "";

const contentOf = ({ name, enabled = true, matchers, actions }: Rule) => ({
  name: name ?? "",
  enabled,
  matchers: matchers.map(({ type, field, value }) => ({
    type,
    ...(type !== "all" && { field: field ?? "to", value: value ?? "" }),
  })),
  actions: actions.map(({ type, value = [] }) => ({ type, ...(type !== "drop" && { value }) })),
});

const describe = ({ name, matchers }: Rule) =>
  name || (matchers[0]?.type === "all" ? "all addresses" : (matchers[0]?.value ?? "no matcher"));

function problemOf({ matchers, actions }: Rule): string | undefined {
  if (matchers.length !== 1) return `it has ${matchers.length} matchers; this server accepts one`;
  if (actions.length !== 1) return `it has ${actions.length} actions; this server accepts one`;
  const [matcher, action] = [matchers[0]!, actions[0]!];
  if (!MATCHERS.has(matcher.type)) return `matchers of type ${matcher.type} are not available on this server`;
  return ACTIONS.has(action.type) ? undefined : `actions of type ${action.type} are not available on this server`;
}
