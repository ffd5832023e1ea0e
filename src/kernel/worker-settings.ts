import { z } from "zod";
import { parseIdRange } from "./privileges.ts";
import { count, group } from "./setting-types.ts";

export const workersSettings = group("Worker processes and their limits", {
  domain: z.string().min(1).default("localhost").meta({
    description: "Parent domain of worker URLs: `<worker>.<account's subdomain>.<this domain>`",
    example: "workers.example.com",
  }),
  by_path: z.boolean().default(true).meta({
    description:
      "Also serve workers of the first account at `/workers/<worker>/` on the API's host; browsers run those pages in a sandbox",
    example: false,
  }),
  script_mb: count(10, 1, 128, "Maximum size of an upload with all modules, in MiB"),
  cpu_ms: count(30_000, 1, 300_000, "CPU milliseconds per invocation; a worker's own limits.cpu_ms can only lower it"),
  email_wall_ms: count(60_000, 1, 900_000, "Maximum duration of an email handler in milliseconds, including waiting"),
  scheduled_wall_ms: count(
    900_000,
    1,
    3_600_000,
    "Maximum duration of a scheduled handler in milliseconds, including waiting",
  ),
  heap_mb: count(128, 16, 4096, "Maximum JavaScript heap of a process, in MiB"),
  rss_mb: count(512, 64, 16_384, "Maximum resident memory of a process in MiB: heap, buffers and messages in progress"),
  concurrency: count(64, 1, 1000, "Maximum number of concurrent messages per worker; further ones wait"),
  max_processes: count(
    200,
    1,
    10_000,
    "Maximum number of worker processes; to make room for a new one, the one that has been idle longest is stopped",
  ),
  idle_ms: count(300_000, 100, 86_400_000, "Idle time in milliseconds after which a process stops"),
  analytics_days: count(90, 1, 3660, "Days to keep metrics of invocations; hourly metrics at most 31 days"),
  ai_url: z
    .string()
    .default("")
    .refine((text) => text === "" || /^https?:\/\/[^\s/]/.test(text), "is not an HTTP URL")
    .meta({
      description:
        "URL of the OpenAI-compatible server for `ai` bindings, without `/chat/completions`. If empty, the bindings are undefined",
      example: "http://127.0.0.1:11434/v1",
    }),
  ai_key: z.string().default("").meta({ description: "API key for `workers.ai_url`", example: "" }),
  ai_key_file: z.string().default("").meta({
    description: "File with the API key for `workers.ai_url`; overrides `workers.ai_key`",
    example: "/etc/reelpost/ai.key",
  }),
  ai_models: z
    .array(z.string().regex(/^[^=]+=.+$/))
    .default([])
    .meta({
      description:
        "Model names for the AI server, as `name in workers=name on the AI server`. Other names are sent unchanged",
      example: ["@cf/meta/llama-3.1-8b-instruct=llama3.1:8b"],
    }),
  ai_remote_urls: z.boolean().default(false).meta({
    description:
      "Let workers and clients of AI Gateway pass URLs, such as `image_url`, that the AI server fetches. Enable it only if the AI server cannot reach private services; otherwise only `data:` URLs are allowed",
    example: false,
  }),
  ai_providers: z
    .array(z.string().regex(/^[a-z0-9][a-z0-9-]*=https?:\/\/[^\s/]\S*$/))
    .default([])
    .meta({
      description:
        "OpenAI-compatible servers of AI Gateway, as `provider=URL` with the URL without `/chat/completions`. The server in `workers.ai_url` is the provider `workers-ai`",
      example: ["openai=https://api.openai.com/v1"],
    }),
  ai_provider_keys: z
    .array(z.string().regex(/^[^=\s]+=.+$/))
    .default([])
    .meta({ description: "API keys for `workers.ai_providers`, as `provider=key`", example: ["openai=sk-example"] }),
  ai_provider_keys_file: z.string().default("").meta({
    description:
      "File with the API keys for `workers.ai_providers`, one `provider=key` per line; overrides `workers.ai_provider_keys`",
    example: "/etc/reelpost/ai-providers.keys",
  }),
  uid_range: z
    .string()
    .default("1879048192-1879113727")
    .refine((text) => text === "" || parseIdRange(text) !== undefined, "is not a range of user ids, `first-last`")
    .meta({
      description:
        "User ids for worker processes, one per account; requires root or CAP_SETUID. Empty: all run as `nobody`. Ranges of servers on the same machine must not overlap",
      example: "70000-79999",
    }),
});

export const r2Settings = group("R2 buckets: the S3 API and public buckets", {
  s3_domain: z.string().default("r2.localhost").meta({
    description:
      "Parent domain of the S3 endpoints: `<account id>.<this domain>`. If empty, the only endpoint is `/s3/<account id>` on the API's host",
    example: "r2.example.com",
  }),
  public_domain: z.string().default("public.localhost").meta({
    description:
      "Parent domain of the managed hosts of public buckets: `pub-<bucket id>.<this domain>`. If empty, buckets have no managed host",
    example: "r2-public.example.com",
  }),
});
