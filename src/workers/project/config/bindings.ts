import type { Binding, SendEmailBinding } from "../../scripts/script.ts";
import type { DevVar } from "./dev-vars.ts";
import type { EnvironmentFields } from "./schema.ts";

/**
 * The bindings of a local run. As in `wrangler dev`, preview resources go before the ones of production, a secret goes before a variable of
 * the same name, and a resource without an id gets one of its own from the worker and the binding.
 */
export function makeBindings(fields: EnvironmentFields, workerName: string, secrets: readonly DevVar[]): Binding[] {
  const own = (binding: string) => `${workerName}-${binding}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  const secretNames = new Set(secrets.map(({ name }) => name));
  return [
    ...(fields.send_email ?? []).map(sendEmailBinding),
    ...(fields.kv_namespaces ?? []).map((entry): Binding => ({ type: "kv_namespace", name: entry.binding, namespace_id: entry.preview_id ?? entry.id ?? own(entry.binding) })),
    ...(fields.r2_buckets ?? []).map((entry): Binding => ({ type: "r2_bucket", name: entry.binding, bucket_name: entry.preview_bucket_name ?? entry.bucket_name ?? own(entry.binding) })),
    ...(fields.d1_databases ?? []).map((entry): Binding => ({ type: "d1", name: entry.binding, id: entry.preview_database_id ?? entry.database_id ?? own(entry.binding) })),
    ...Object.entries(fields.vars ?? {}).flatMap(([name, value]): Binding[] => {
      if (secretNames.has(name)) return [];
      return [typeof value === "string" ? { type: "plain_text", name, text: value } : { type: "json", name, json: value }];
    }),
    ...secrets.map(({ name, value }): Binding => ({ type: "secret_text", name, text: value })),
  ];
}

type SendEmailFields = NonNullable<EnvironmentFields["send_email"]>[number];

function sendEmailBinding({ name, destination_address: one, allowed_destination_addresses: several, allowed_sender_addresses: senders }: SendEmailFields): SendEmailBinding {
  return {
    type: "send_email",
    name,
    ...(one === undefined ? {} : { destination_address: one }),
    ...(several === undefined ? {} : { allowed_destination_addresses: several }),
    ...(senders === undefined ? {} : { allowed_sender_addresses: senders }),
  };
}
