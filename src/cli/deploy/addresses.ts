import { at } from "../api/paths.ts";
import type { ApiRule } from "../email/routing.ts";
import type { WorkerConnection } from "../worker-of.ts";

interface Change {
  type: "added" | "updated" | "deleted" | "conflict";
  /** `user@example.com`, or `*@example.com` for the catch-all rule. */
  target: string;
  remote?: Pick<ApiRule, "id" | "matchers" | "actions"> & { owner_worker_name?: string };
}

interface SetAddresses {
  added: string[];
  updated: string[];
  deleted: string[];
  /** Addresses whose rule does not belong to this worker; left unchanged. */
  conflicts: { target: string; does: string }[];
}

const DROP_ALL = { matchers: [{ type: "all" }], actions: [{ type: "drop" }], enabled: false, name: "", source: "api" };

/**
 * Synchronizes the routing rules that a worker owns with its configuration. Rules of other owners are never changed.
 * `tag`: the worker's id. Rejects with the API's error if a domain has no Email Routing; then nothing is changed.
 */
export async function syncRoutingRules(
  { api, base, name }: WorkerConnection,
  tag: string,
  addresses: readonly string[],
): Promise<SetAddresses> {
  const actions = [{ type: "worker", value: [name] }];
  const literalRuleOf = (value: string) => ({ matchers: [{ type: "literal", field: "to", value }], actions });
  const catchAllRule = { matchers: [{ type: "all" }], actions };
  const isCatchAll = (target: string) => target.startsWith("*@");
  const { zones } = await api.result<{ zones: { zone_id: string; changes: Change[] }[] }>(
    "POST",
    `${base}/email/routing/rules/plan`,
    {
      json: {
        owner_worker_tag: tag,
        rules: addresses.filter((one) => !isCatchAll(one)).map(literalRuleOf),
        catch_all_rules: addresses.filter(isCatchAll).map((target) => ({ target, rule: catchAllRule })),
      },
    },
  );
  const addressResult: SetAddresses = { added: [], updated: [], deleted: [], conflicts: [] };
  for (const { zone_id: zone, changes } of zones) {
    for (const change of changes) await applyChange(at`/zones/${zone}/email/routing/rules`, change);
  }
  return addressResult;

  async function applyChange(rules: string, { type, target, remote }: Change): Promise<void> {
    if (type === "conflict") return void addressResult.conflicts.push({ target, does: describeAction(remote) });
    const isCatchAllTarget = isCatchAll(target);
    const ruleUrlOf = () => (isCatchAllTarget ? `${rules}/catch_all` : `${rules}${at`/${remote!.id}`}`);
    const json = {
      ...(isCatchAllTarget ? catchAllRule : literalRuleOf(target)),
      enabled: true,
      source: "wrangler",
      owner_worker_tag: tag,
    };
    if (type === "deleted")
      await (isCatchAllTarget ? api.result("PUT", ruleUrlOf(), { json: DROP_ALL }) : api.result("DELETE", ruleUrlOf()));
    else
      await (type === "added" && !isCatchAllTarget
        ? api.result("POST", rules, { json })
        : api.result("PUT", ruleUrlOf(), { json }));
    addressResult[type].push(target);
  }
}

function describeAction(remote: Change["remote"]): string {
  const [action] = remote?.actions ?? [];
  return action === undefined
    ? "has another rule"
    : action.type === "drop"
      ? "is dropped"
      : `goes to ${action.value?.join(", ") ?? action.type}`;
}
