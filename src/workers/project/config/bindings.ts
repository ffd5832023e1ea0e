import type { Binding, SendEmailBinding } from "../../scripts/script.ts";
import type { DevVar } from "./dev-vars.ts";
import { localIds } from "./local-ids.ts";
import { rateLimitsAmong } from "./binding-fields.ts";
import type { EnvironmentFields } from "./schema.ts";

/** Purpose of reading a worker: to run it on this machine, or to upload it to a server. */
export type Purpose = "dev" | "deploy";

/**
 * Returns the bindings of a run. For a local run, as in `wrangler dev`, preview resources take precedence over
 * production ones, a secret takes precedence over a variable of the same name, and a resource without an id gets one
 * derived from the worker and the binding.
 */
export function makeBindings(
  fields: EnvironmentFields,
  { workerName, purpose, secrets }: { workerName: string; purpose: Purpose; secrets: readonly DevVar[] },
): Binding[] {
  const ids = localIds(workerName);
  const idsOf = (preview: string | undefined, id: string | undefined) => ({
    preview: purpose === "deploy" ? undefined : preview,
    id,
  });
  const storeBindingNames = new Set((fields.secrets_store_secrets ?? []).map(({ binding }) => binding));
  const ownSecrets = secrets.filter(({ name }) => !storeBindingNames.has(name));
  const secretNames = new Set(ownSecrets.map(({ name }) => name));
  return [
    ...(fields.send_email ?? []).map(sendEmailBinding),
    ...(fields.kv_namespaces ?? []).map((entry): Binding => ({
      type: "kv_namespace",
      name: entry.binding,
      namespace_id: ids.namespace(entry.binding, idsOf(entry.preview_id, entry.id)),
    })),
    ...(fields.r2_buckets ?? []).map((entry): Binding => ({
      type: "r2_bucket",
      name: entry.binding,
      bucket_name: ids.bucket(entry.binding, idsOf(entry.preview_bucket_name, entry.bucket_name)),
    })),
    ...(fields.d1_databases ?? []).map((entry): Binding => ({
      type: "d1",
      name: entry.binding,
      id: ids.database(entry.binding, idsOf(entry.preview_database_id, entry.database_id)),
    })),
    ...(fields.queues?.producers ?? []).map((entry): Binding => ({
      type: "queue",
      name: entry.binding,
      queue_name: ids.queue(entry.binding, entry.queue),
      ...(entry.delivery_delay !== undefined && { delivery_delay: entry.delivery_delay }),
    })),
    ...(fields.stream == null ? [] : [{ type: "stream", name: fields.stream.binding } satisfies Binding]),
    ...(fields.services ?? []).map(({ binding: name, service, entrypoint, props }): Binding => ({
      type: "service",
      name,
      service,
      ...(entrypoint !== undefined && { entrypoint }),
      ...(props !== undefined && { props }),
    })),
    ...(fields.secrets_store_secrets ?? []).map(({ binding: name, store_id, secret_name }): Binding => {
      const localValue = secrets.find((secret) => secret.name === name)?.value;
      return {
        type: "secrets_store_secret",
        name,
        store_id,
        secret_name,
        ...(localValue !== undefined && { local: localValue }),
      };
    }),
    ...(fields.durable_objects?.bindings ?? []).map(({ name, class_name, script_name }): Binding => ({
      type: "durable_object_namespace",
      name,
      class_name,
      ...(script_name !== undefined && script_name !== workerName && { script_name }),
    })),
    ...(fields.analytics_engine_datasets ?? []).map(({ binding: name, dataset = name }): Binding => ({
      type: "analytics_engine",
      name,
      dataset,
    })),
    ...(fields.ratelimits ?? []).map((entry): Binding => ({ type: "ratelimit", ...entry })),
    ...rateLimitsAmong(fields.unsafe?.bindings ?? []),
    ...(fields.ai == null ? [] : [{ type: "ai", name: fields.ai.binding } satisfies Binding]),
    ...(fields.version_metadata == null
      ? []
      : [{ type: "version_metadata", name: fields.version_metadata.binding } satisfies Binding]),
    ...(fields.assets?.binding === undefined
      ? []
      : [{ type: "assets", name: fields.assets.binding } satisfies Binding]),
    ...Object.entries(fields.vars ?? {}).flatMap(([name, value]): Binding[] => {
      if (secretNames.has(name)) return [];
      return [
        typeof value === "string" ? { type: "plain_text", name, text: value } : { type: "json", name, json: value },
      ];
    }),
    ...ownSecrets.map(({ name, value }): Binding => ({ type: "secret_text", name, text: value })),
  ];
}

type SendEmailFields = NonNullable<EnvironmentFields["send_email"]>[number];

function sendEmailBinding({
  name,
  destination_address: destination,
  allowed_destination_addresses: destinations,
  allowed_sender_addresses: senders,
}: SendEmailFields): SendEmailBinding {
  return {
    type: "send_email",
    name,
    ...(destination === undefined ? {} : { destination_address: destination }),
    ...(destinations === undefined ? {} : { allowed_destination_addresses: destinations }),
    ...(senders === undefined ? {} : { allowed_sender_addresses: senders }),
  };
}
