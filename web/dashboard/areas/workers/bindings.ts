export interface Binding extends Record<string, unknown> {
  name: string;
  type: string;
}

const TYPES: Record<string, string> = {
  ai: "AI",
  analytics_engine: "Analytics Engine",
  assets: "Static assets",
  d1: "D1 database",
  durable_object_namespace: "Durable Object",
  json: "JSON",
  kv_namespace: "KV namespace",
  plain_text: "Text",
  queue: "Queue",
  r2_bucket: "R2 bucket",
  ratelimit: "Rate limit",
  secrets_store_secret: "Secrets Store",
  send_email: "Send email",
  service: "Worker",
  stream: "Stream",
  version_metadata: "Version metadata",
};
/** The field that names what a binding refers to. */
const TARGETS: Record<string, string> = {
  analytics_engine: "dataset",
  d1: "id",
  durable_object_namespace: "class_name",
  kv_namespace: "namespace_id",
  plain_text: "text",
  queue: "queue_name",
  r2_bucket: "bucket_name",
  ratelimit: "namespace_id",
  secrets_store_secret: "secret_name",
  service: "service",
};

export const bindingType = ({ type }: Binding): string => TYPES[type] ?? type;

export function bindingTarget(binding: Binding): string {
  if (binding.type === "json") return JSON.stringify(binding["json"]);
  if (binding.type === "send_email") {
    const { destination_address: address, allowed_destination_addresses: addresses } = binding;
    return typeof address === "string" ? address : Array.isArray(addresses) ? addresses.join(", ") : "any address";
  }
  const value = binding[TARGETS[binding.type] ?? ""];
  return typeof value === "string" ? value : "–";
}
