import type { Binding } from "../../workers/index.ts";
import { truncate } from "../../kernel/text.ts";
import { table, type Paint } from "../print.ts";

/** Table of the bindings in env, with a blank line above. */
export function bindingTable(bindings: readonly ShownBinding[], paint: Paint): string[] {
  return bindings.length === 0
    ? []
    : [
        "",
        ...table(
          ["binding", "type", "value"],
          bindings.map((binding) => [`env.${binding.name}`, TYPES[binding.type] ?? binding.type, valueOf(binding)]),
          paint,
        ),
      ];
}

/** Bindings as the API returns them, possibly of unknown types. */
export type ShownBinding = Binding | { type: string; name: string };

const TYPES: Record<string, string> = {
  plain_text: "variable",
  json: "variable (JSON)",
  secret_text: "secret",
  kv_namespace: "KV namespace",
  r2_bucket: "R2 bucket",
  d1: "D1 database",
  queue: "queue",
  stream: "Stream",
  version_metadata: "version metadata",
  ratelimit: "rate limit",
  service: "worker",
  ai: "Workers AI",
  secrets_store_secret: "Secrets Store",
  durable_object_namespace: "Durable Object",
  analytics_engine: "Analytics Engine",
  assets: "static assets",
  send_email: "send_email",
};

function valueOf(shown: ShownBinding): string {
  const binding = shown as Binding;
  switch (binding.type) {
    case "plain_text":
      return JSON.stringify(truncate(binding.text, 60));
    case "json":
      return truncate(JSON.stringify(binding.json) ?? "", 60);
    case "secret_text":
      return "(hidden)";
    case "kv_namespace":
      return binding.namespace_id;
    case "r2_bucket":
      return binding.bucket_name;
    case "d1":
      return binding.id;
    case "queue":
      return binding.queue_name;
    case "stream":
      return "the account's videos";
    case "analytics_engine":
      return binding.dataset;
    case "service":
      return binding.entrypoint === undefined ? binding.service : `${binding.service}#${binding.entrypoint}`;
    case "secrets_store_secret":
      return `${binding.secret_name} (store ${binding.store_id})`;
    case "ai":
      return "the server's AI endpoint (workers.ai_url)";
    case "durable_object_namespace":
      return binding.script_name === undefined ? binding.class_name : `${binding.class_name} of ${binding.script_name}`;
    case "ratelimit":
      return `${binding.simple.limit} in ${binding.simple.period} s (namespace ${binding.namespace_id})`;
    case "version_metadata":
      return "id, tag and timestamp";
    case "assets":
      return "the files of this version";
    case "send_email":
      return binding.destination_address ?? binding.allowed_destination_addresses?.join(", ") ?? "any verified address";
    default:
      return "";
  }
}
