import type { Binding, DurableObjectBinding } from "../scripts/script.ts";
import { objectErrors } from "./errors.ts";
import type { ObjectNamespace } from "./port.ts";

/** Finds the namespace of a class that another worker exports. */
export type FindForeignNamespace = (
  binding: DurableObjectBinding & { script_name: string },
) => Promise<ObjectNamespace | undefined>;

interface NamespaceLookup {
  script: string;
  /** The namespaces of the worker itself. */
  namespaces: readonly ObjectNamespace[];
  /** The namespaces that the deploy deletes. */
  deletedNamespaces: readonly ObjectNamespace[];
  findForeign: FindForeignNamespace;
}

/**
 * Adds the namespace ids to bindings to Durable Object classes. Throws notConfigured or stillBound for a class without
 * a namespace.
 */
export async function resolveObjectBindings(bindings: Binding[], resolution: NamespaceLookup): Promise<Binding[]> {
  return Promise.all(bindings.map((binding) => resolveBinding(binding, resolution)));
}

async function resolveBinding(
  binding: Binding,
  { script, namespaces, deletedNamespaces, findForeign }: NamespaceLookup,
): Promise<Binding> {
  if (binding.type !== "durable_object_namespace") return binding;
  const { script_name = script, namespace_id: _, ...fields } = binding;
  const { class_name: className } = binding;
  const namespace =
    script_name === script
      ? namespaces.find((candidate) => candidate.className === className)
      : await findForeign({ ...binding, script_name });
  if (
    namespace === undefined &&
    script_name === script &&
    deletedNamespaces.some((candidate) => candidate.className === className)
  )
    throw objectErrors.stillBound({ className, binding: binding.name });
  if (namespace === undefined) throw objectErrors.notConfigured({ className, script: script_name });
  return { ...fields, ...(script_name !== script && { script_name }), namespace_id: namespace.id };
}

/**
 * Returns the bindings of a stored version with current class names and namespace ids: classes of other workers may
 * have been renamed or recreated since the version was uploaded. A binding to a class that no longer exists remains,
 * and calls to it fail.
 */
export const currentObjectBindings = (bindings: Binding[], findForeign: FindForeignNamespace): Promise<Binding[]> =>
  Promise.all(
    bindings.map(async (binding) => {
      if (binding.type !== "durable_object_namespace" || binding.script_name === undefined) return binding;
      const namespace = await findForeign({ ...binding, script_name: binding.script_name });
      return namespace === undefined
        ? binding
        : { ...binding, class_name: namespace.className, namespace_id: namespace.id };
    }),
  );

/**
 * Binds a worker's own classes as if another worker exported them: calls then leave the process, and reach the objects
 * where they run.
 */
export const bindOwnAsForeign = (
  bindings: Binding[],
  { scriptId, script, namespaces }: { scriptId: string; script: string; namespaces: readonly ObjectNamespace[] },
): Binding[] =>
  bindings.map((binding) => {
    if (binding.type !== "durable_object_namespace" || binding.script_name !== undefined) return binding;
    const namespace = namespaces.find(({ className }) => className === binding.class_name);
    return {
      ...binding,
      script_name: script,
      script_id: scriptId,
      ...(namespace !== undefined && { namespace_id: namespace.id }),
    };
  });
