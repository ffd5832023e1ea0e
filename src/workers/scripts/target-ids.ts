import type { Binding } from "./script.ts";
import { scriptIds, type Tables } from "./scripts-table.ts";

/**
 * Adds the ids of the workers that the bindings name. A process keeps its bindings until it is replaced, and finds a
 * worker by its id even if that worker has been renamed since.
 */
export async function withTargetIds(tables: Tables, account: string, bindings: Binding[]): Promise<Binding[]> {
  const ids = await scriptIds(tables, account, [...new Set(bindings.flatMap((binding) => targetName(binding) ?? []))]);
  return bindings.map((binding) => {
    const id = ids.get(targetName(binding) ?? "");
    if (id === undefined) return binding;
    if (binding.type === "service") return { ...binding, service_id: id };
    return binding.type === "durable_object_namespace" ? { ...binding, script_id: id } : binding;
  });
}

function targetName(binding: Binding): string | undefined {
  if (binding.type === "service") return binding.service;
  return binding.type === "durable_object_namespace" ? binding.script_name : undefined;
}
