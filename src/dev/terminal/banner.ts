import type { Binding } from "../../workers/index.ts";
import { painter } from "./output.ts";

export interface BannerContent {
  version: string;
  /** Without a trailing slash. */
  url: string;
  smtp?: { host: string; port: number };
  dataDirectory: string;
  mailDirectory: string;
  /** The default worker first. */
  workers: { name: string; config: string; bindings: Binding[] }[];
  /** Empty without a keyboard. */
  hotkeys: { key: string; label: string }[];
}

/** The start banner: URLs, commands to paste, bindings and hotkeys. */
export function renderBanner(content: BannerContent, colour: boolean): string {
  const paint = painter(colour);
  const row = (label: string, value: string) => `  ${label.padEnd(10)}  ${value}`;
  const { url, smtp } = content;
  const lines = [
    `${paint("bold", "reelpost dev")} ${paint("dim", content.version)}`,
    "",
    row("HTTP", paint("cyan", `${url}/`)),
    row("SMTP", smtp ? paint("cyan", `${smtp.host}:${smtp.port}`) : paint("dim", "off")),
    row("Data", content.dataDirectory),
    row("Mail out", `${content.mailDirectory} ${paint("dim", "(.eml files)")}`),
    "",
    paint("dim", "Send the worker a message:"),
    `  ${curlWithEnvelope(url)}`,
    `  ${curlWithHeaders(url)}`,
    "",
    ...content.workers.flatMap((worker) => workerTable(worker, paint)),
  ];
  if (content.workers.length > 1) lines.push(...severalWorkersHint(content, paint), "");
  if (content.hotkeys.length > 0) lines.push(...hotkeyBox(content.hotkeys, paint));
  return lines.join("\n").trimEnd();
}

const SAMPLE =
  "From: ada@example.com\\nTo: inbox@example.org\\nMessage-ID: <1@example.com>\\nSubject: Hello\\n\\nHello from curl";

// bash, zsh and ksh support $'...'; --data-binary keeps the line breaks.
const curlWithEnvelope = (url: string) =>
  `curl '${url}/cdn-cgi/handler/email?from=ada@example.com&to=inbox@example.org' --data-binary $'${SAMPLE}'`;
const curlWithHeaders = (url: string) =>
  `curl '${url}/__email' -H 'content-type: message/rfc822' --data-binary $'${SAMPLE}'`;

type Painter = ReturnType<typeof painter>;

function workerTable({ name, config, bindings }: BannerContent["workers"][number], paint: Painter): string[] {
  const rows = bindings.map((binding) => [binding.name, KINDS[binding.type], resourceOf(binding)] as const);
  const width = (column: 0 | 1) => Math.max(0, ...rows.map((row) => row[column].length));
  const [names, kinds] = [width(0), width(1)];
  return [
    `${paint("bold", name)} ${paint("dim", config)}`,
    ...rows.map(([binding, kind, resource]) =>
      `  env.${binding.padEnd(names)}  ${kind.padEnd(kinds)}  ${paint("dim", resource)}`.trimEnd(),
    ),
    ...(rows.length === 0 ? [paint("dim", "  no bindings")] : []),
    "",
  ];
}

const KINDS: Record<Binding["type"], string> = {
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

function resourceOf(binding: Binding): string {
  switch (binding.type) {
    case "plain_text":
      return shorten(JSON.stringify(binding.text));
    case "json":
      return shorten(JSON.stringify(binding.json));
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
      return "videos on this machine";
    case "analytics_engine":
      return binding.dataset;
    case "service":
      return binding.entrypoint === undefined ? binding.service : `${binding.service}#${binding.entrypoint}`;
    case "secrets_store_secret":
      return binding.secret_name;
    case "ai":
      return "the AI server in workers.ai_url";
    case "durable_object_namespace":
      return binding.script_name === undefined ? binding.class_name : `${binding.class_name} of ${binding.script_name}`;
    case "ratelimit":
      return `${binding.simple.limit} in ${binding.simple.period} s (namespace ${binding.namespace_id})`;
    case "version_metadata":
      return "id, tag and timestamp";
    case "assets":
      return "";
    case "send_email":
      return sendersAndRecipients(binding);
  }
}

function sendersAndRecipients(binding: Extract<Binding, { type: "send_email" }>): string {
  const to = binding.destination_address ? [binding.destination_address] : binding.allowed_destination_addresses;
  const parts = [
    to && `to ${to.join(", ")}`,
    binding.allowed_sender_addresses && `from ${binding.allowed_sender_addresses.join(", ")}`,
  ].filter(Boolean);
  return parts.length === 0 ? "to anyone" : shorten(parts.join("; "));
}

const shorten = (text: string) => (text.length <= 60 ? text : `${text.slice(0, 57)}...`);

function severalWorkersHint({ url, workers }: BannerContent, paint: Painter): string[] {
  const other = workers[1]!.name;
  return [
    paint(
      "dim",
      `Mail and requests go to ${workers[0]!.name}. For another worker, prefix the path with /cdn-cgi/worker/NAME or use NAME.localhost:`,
    ),
    `  ${url}/cdn-cgi/worker/${other}/`,
    `  ${url}/cdn-cgi/handler/email?worker=${other}&from=...&to=...`,
  ];
}

function hotkeyBox(hotkeys: BannerContent["hotkeys"], paint: Painter): string[] {
  const plain = hotkeys.map(({ key, label }) => `[${key}] ${label}`).join("  ");
  const shown = hotkeys.map(({ key, label }) => `${paint("bold", `[${key}]`)} ${label}`).join("  ");
  const edge = "─".repeat(plain.length + 2);
  return [`╭${edge}╮`, `│ ${shown} │`, `╰${edge}╯`];
}
