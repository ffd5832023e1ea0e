import type { Binding, DurableObjectBinding } from "../scripts/script.ts";
import { objectErrors } from "./errors.ts";
import type { ObjectNamespace } from "./port.ts";

/** Finds the namespace of a class of another worker. */
export type FindForeign = (
  binding: DurableObjectBinding & { script_name: string },
) => Promise<ObjectNamespace | undefined>;

interface Resolution {
  script: string;
  /** The namespaces of the worker itself. */
  namespaces: readonly ObjectNamespace[];
  /** Those that the deploy deletes. */
  deleted: readonly ObjectNamespace[];
  findForeign: FindForeign;
}

/**
 * Bindings to Durable Object classes with the ids of their namespaces. Throws notConfigured and stillBound for a class
 * that has none.
 */
export async function resolveObjectBindings(bindings: Binding[], resolution: Resolution): Promise<Binding[]> {
  return Promise.all(bindings.map((binding) => resolved(binding, resolution)));
}

async function resolved(binding: Binding, { script, namespaces, deleted, findForeign }: Resolution): Promise<Binding> {
  if (binding.type !== "durable_object_namespace") return binding;
  const { script_name = script, namespace_id: _, ...own } = binding;
  const { class_name: className } = binding;
  const found =
    script_name === script
      ? namespaces.find((each) => each.className === className)
      : await findForeign({ ...binding, script_name });
  if (found === undefined && script_name === script && deleted.some((each) => each.className === className))
    throw objectErrors.stillBound({ className, binding: binding.name });
  if (found === undefined) throw objectErrors.notConfigured({ className, script: script_name });
  return { ...own, ...(script_name !== script && { script_name }), namespace_id: found.id };
}

/**
 * The bindings of a stored version as they are now: classes of other workers may have been renamed, or created again,
 * since the version was uploaded. A class that no longer exists keeps its binding; calls of it fail.
 */
export const currentObjectBindings = (bindings: Binding[], findForeign: FindForeign): Promise<Binding[]> =>
  Promise.all(
    bindings.map(async (binding) => {
      if (binding.type !== "durable_object_namespace" || binding.script_name === undefined) return binding;
      const found = await findForeign({ ...binding, script_name: binding.script_name });
      return found === undefined ? binding : { ...binding, class_name: found.className, namespace_id: found.id };
    }),
  );
