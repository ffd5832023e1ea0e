import { createHash } from "node:crypto";

/** The configured ids of a resource. */
interface ConfiguredIds {
  preview: string | undefined;
  id: string | undefined;
}

/**
 * Returns the ids under which `reelpost dev` stores resources: as in `wrangler dev`, preview resources take precedence
 * over production ones. The id of a resource without a configured id is derived from the worker and the binding.
 */
export const localIds = (worker: string) => ({
  namespace: (binding: string, { preview, id }: ConfiguredIds) => preview ?? id ?? derivedId(worker, binding),
  bucket: (binding: string, { preview, id }: ConfiguredIds) => preview ?? id ?? derivedName(worker, binding),
  database(binding: string, { preview, id }: ConfiguredIds) {
    const ownId = derivedId(worker, binding);
    return preview ?? id ?? (ownId.length <= MAX_DATABASE_ID_LENGTH ? ownId : derivedName(worker, binding));
  },
  queue: (binding: string, id: string | undefined) => id ?? derivedName(worker, binding),
});

const MAX_DATABASE_ID_LENGTH = 128;
/** Format of bucket and queue names. */
const VALID_NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;
const MAX_READABLE_LENGTH = 50;

const derivedId = (worker: string, binding: string) =>
  `${worker}-${binding}`.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");

/**
 * Derives a valid bucket or queue name. If invalid characters or excess length are removed, a digest keeps the name
 * distinct.
 */
export function derivedName(worker: string, binding: string): string {
  const id = derivedId(worker, binding);
  if (VALID_NAME.test(id)) return id;
  const digest = createHash("sha256").update(`${worker}/${binding}`).digest("hex").slice(0, 10);
  const readablePart = id.replace(/^-+/, "").slice(0, MAX_READABLE_LENGTH).replace(/-+$/, "");
  return readablePart === "" ? digest : `${readablePart}-${digest}`;
}
