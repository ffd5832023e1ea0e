import { createHash } from "node:crypto";

/** The configured ids of a resource. */
interface ConfiguredIds {
  preview: string | undefined;
  id: string | undefined;
}

/**
 * The id under which `reelpost dev` stores a resource: as in `wrangler dev`, preview resources take precedence over
 * production ones. A resource without an id gets one derived from the worker and the binding.
 */
export const localIds = (worker: string) => ({
  namespace: (binding: string, { preview, id }: ConfiguredIds) => preview ?? id ?? derived(worker, binding),
  bucket: (binding: string, { preview, id }: ConfiguredIds) => preview ?? id ?? derivedName(worker, binding),
  database(binding: string, { preview, id }: ConfiguredIds) {
    const own = derived(worker, binding);
    return preview ?? id ?? (own.length <= MAX_DATABASE_ID ? own : derivedName(worker, binding));
  },
  queue: (binding: string, id: string | undefined) => id ?? derivedName(worker, binding),
});

const MAX_DATABASE_ID = 128;
/** Names of buckets and queues. */
const VALID_NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;
const MAX_READABLE = 50;

const derived = (worker: string, binding: string) =>
  `${worker}-${binding}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");

/** Valid as the name of a bucket or a queue: a digest replaces what a name must not contain. */
export function derivedName(worker: string, binding: string): string {
  const own = derived(worker, binding);
  if (VALID_NAME.test(own)) return own;
  const digest = createHash("sha256").update(`${worker}/${binding}`).digest("hex").slice(0, 10);
  const readable = own.replace(/^-+/, "").slice(0, MAX_READABLE).replace(/-+$/, "");
  return readable === "" ? digest : `${readable}-${digest}`;
}
