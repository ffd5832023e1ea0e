import { truncate } from "../../kernel/text.ts";
import type { Binding } from "../scripts/script.ts";

/** A binding as the v4 API returns it, possibly of an unknown type. */
export type ShownBinding = Binding | { type: string; name: string };

/**
 * Where the worker runs: in each place, some bindings refer to different resources, and `dev` has less space per line.
 */
type Place = "dev" | "platform";

/**
 * Returns the description of a binding, for a table: its type, and its value or the resource it refers to, never a
 * secret. `value` is empty if there is nothing to add to the type, or if the type is unknown.
 */
export function describeBinding(binding: ShownBinding, place: Place): { type: string; value: string } {
  if (!isKnown(binding)) return { type: binding.type, value: "" };
  const type = (place === "platform" ? PLATFORM_TYPES[binding.type] : undefined) ?? TYPES[binding.type];
  return { type, value: valueOf(binding, place === "dev") };
}

const isKnown = (binding: ShownBinding): binding is Binding => Object.hasOwn(TYPES, binding.type);

const TYPES: Record<Binding["type"], string> = {
  plain_text: "variable",
  json: "variable",
  secret_text: "secret",
  kv_namespace: "KV namespace",
  r2_bucket: "R2 bucket",
  d1: "D1 database",
  queue: "queue",
  stream: "Stream",
  version_metadata: "version metadata",
  ratelimit: "rate limit",
  ai: "Workers AI",
  secrets_store_secret: "Secrets Store",
  service: "worker",
  durable_object_namespace: "Durable Object",
  analytics_engine: "Analytics Engine",
  assets: "static assets",
  send_email: "send email",
};

const PLATFORM_TYPES: Partial<Record<Binding["type"], string>> = { json: "variable (JSON)", send_email: "send_email" };

function valueOf(binding: Binding, isDev: boolean): string {
  switch (binding.type) {
    case "plain_text":
      return isDev ? shorten(JSON.stringify(binding.text)) : JSON.stringify(truncate(binding.text, MAX_LENGTH));
    case "json": {
      const text = JSON.stringify(binding.json) ?? "";
      return isDev ? shorten(text) : truncate(text, MAX_LENGTH);
    }
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
      return isDev ? "videos on this machine" : "the account's videos";
    case "analytics_engine":
      return binding.dataset;
    case "service":
      return binding.entrypoint === undefined ? binding.service : `${binding.service}#${binding.entrypoint}`;
    case "secrets_store_secret":
      return isDev ? binding.secret_name : `${binding.secret_name} (store ${binding.store_id})`;
    case "ai":
      return isDev ? "the AI server in workers.ai_url" : "the AI server of the platform";
    case "durable_object_namespace":
      return binding.script_name === undefined ? binding.class_name : `${binding.class_name} of ${binding.script_name}`;
    case "ratelimit":
      return `${binding.simple.limit} in ${binding.simple.period} s (namespace ${binding.namespace_id})`;
    case "version_metadata":
      return "id, tag and timestamp";
    case "assets":
      return isDev ? "" : "the files of this version";
    case "send_email":
      return isDev ? sendersAndRecipients(binding) : recipients(binding);
  }
}

type SendEmail = Extract<Binding, { type: "send_email" }>;

const recipients = ({ destination_address: destination, allowed_destination_addresses: destinations }: SendEmail) =>
  destination ?? destinations?.join(", ") ?? "any verified address";

function sendersAndRecipients(binding: SendEmail): string {
  const to = binding.destination_address ? [binding.destination_address] : binding.allowed_destination_addresses;
  const parts = [
    to && `to ${to.join(", ")}`,
    binding.allowed_sender_addresses && `from ${binding.allowed_sender_addresses.join(", ")}`,
  ].filter(Boolean);
  return parts.length === 0 ? "to anyone" : shorten(parts.join("; "));
}

/** Maximum number of characters of a value. */
const MAX_LENGTH = 60;

const shorten = (text: string) => (text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 3)}...`);
