import { at } from "../api/paths.ts";
import type { Rule } from "../email/routing.ts";
import type { WorkerConnection } from "../worker-of.ts";

interface Change {
  type: "added" | "updated" | "deleted" | "conflict";
  /** `user@example.com`, or `*@example.com` for the catch-all rule. */
  target: string;
  remote?: Pick<Rule, "id" | "matchers" | "actions"> & { owner_worker_name?: string };
}

interface SetAddresses {
  added: string[];
  updated: string[];
  deleted: string[];
  /** Addresses whose rule does not belong to this worker; left unchanged. */
  conflicts: { target: string; does: string }[];
}

const NOBODY = { matchers: [{ type: "all" }], actions: [{ type: "drop" }], enabled: false, name: "", source: "api" };

/**
 * Synchronizes the routing rules that a worker owns with its configuration. Rules of other owners are never changed. `tag`: the worker's
 * id. Rejects with the API's error if a domain has no Email Routing; then nothing is changed.
 */
export async function setAddresses(
  { api, base, name }: WorkerConnection,
  tag: string,
  addresses: readonly string[],
): Promise<SetAddresses> {
  const actions = [{ type: "worker", value: [name] }];
  const literal = (value: string) => ({ matchers: [{ type: "literal", field: "to", value }], actions });
  const everything = { matchers: [{ type: "all" }], actions };
  const isCatchAll = (target: string) => target.startsWith("*@");
  const { zones } = await api.result<{ zones: { zone_id: string; changes: Change[] }[] }>(
    "POST",
    `${base}/email/routing/rules/plan`,
    {
      json: {
        owner_worker_tag: tag,
        rules: addresses.filter((one) => !isCatchAll(one)).map(literal),
        catch_all_rules: addresses.filter(isCatchAll).map((target) => ({ target, rule: everything })),
      },
    },
  );
  const done: SetAddresses = { added: [], updated: [], deleted: [], conflicts: [] };
  for (const { zone_id: zone, changes } of zones) {
    for (const change of changes) await make(at`/zones/${zone}/email/routing/rules`, change);
  }
  return done;

  async function make(rules: string, { type, target, remote }: Change): Promise<void> {
    if (type === "conflict") return void done.conflicts.push({ target, does: doesOf(remote) });
    const all = isCatchAll(target);
    const place = () => (all ? `${rules}/catch_all` : `${rules}${at`/${remote!.id}`}`);
    const json = { ...(all ? everything : literal(target)), enabled: true, source: "wrangler", owner_worker_tag: tag };
    if (type === "deleted") await (all ? api.result("PUT", place(), { json: NOBODY }) : api.result("DELETE", place()));
    else await (type === "added" && !all ? api.result("POST", rules, { json }) : api.result("PUT", place(), { json }));
    done[type].push(target);
  }
}

function doesOf(remote: Change["remote"]): string {
  const [action] = remote?.actions ?? [];
  return action === undefined
    ? "has another rule"
    : action.type === "drop"
      ? "is dropped"
      : `goes to ${action.value?.join(", ") ?? action.type}`;
}
