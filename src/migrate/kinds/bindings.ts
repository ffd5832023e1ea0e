import type { Context } from "../context.ts";

export interface V4Binding extends Record<string, unknown> {
  name: string;
  type: string;
}

/** Fields of the binding types that need no translation. */
const FIELDS: Record<string, readonly string[]> = {
  plain_text: ["text"],
  json: ["json"],
  r2_bucket: ["bucket_name"],
  queue: ["queue_name", "delivery_delay"],
  version_metadata: [],
  ratelimit: ["namespace_id", "simple"],
  analytics_engine: ["dataset"],
  service: ["service", "entrypoint", "props"],
  durable_object_namespace: ["class_name", "script_name"],
  ai: [],
  stream: [],
  send_email: ["destination_address", "allowed_destination_addresses", "allowed_sender_addresses"],
};

/** Types that are handled elsewhere: secrets keep their values on the target, assets cannot be read. */
const LEFT_OUT = new Set(["secret_text", "secret_key", "assets"]);

/**
 * Bindings in the form of an upload, with the ids of the target. `losses` names those that this server does not have.
 * `side`: where the bindings come from.
 */
export function translateBindings(
  { ids }: Pick<Context, "ids">,
  sent: readonly V4Binding[],
  side: "source" | "target" = "source",
): { bindings: V4Binding[]; losses: string[] } {
  const bindings: V4Binding[] = [];
  const losses: string[] = [];
  const translate = (kind: "kv" | "d1", id: string) => (side === "target" ? id : (ids.find(kind, id) ?? id));
  for (const binding of sent) {
    const { name, type } = binding;
    if (LEFT_OUT.has(type)) continue;
    if (type === "kv_namespace")
      bindings.push({ name, type, namespace_id: translate("kv", String(binding["namespace_id"])) });
    else if (type === "d1")
      bindings.push({ name, type, id: translate("d1", String(binding["database_id"] ?? binding["id"])) });
    else if (Object.hasOwn(FIELDS, type)) bindings.push({ name, type, ...pick(binding, FIELDS[type]!) });
    else losses.push(`env.${name} is missing: bindings of type ${type} are not imported`);
  }
  return { bindings, losses };
}

const pick = (binding: V4Binding, fields: readonly string[]) =>
  Object.fromEntries(
    fields.flatMap((field) =>
      binding[field] === undefined || binding[field] === null ? [] : [[field, binding[field]]],
    ),
  );

/** Classes of Durable Objects that the worker itself defines. */
export const classesOf = (script: string, bindings: readonly V4Binding[]): string[] => [
  ...new Set(
    bindings.flatMap(({ type, class_name, script_name }) =>
      type === "durable_object_namespace" && (script_name === undefined || script_name === script)
        ? [String(class_name)]
        : [],
    ),
  ),
];
