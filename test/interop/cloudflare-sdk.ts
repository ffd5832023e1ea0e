import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Platform } from "./platform.ts";

// The actual package, from the clients directory. It is not a dependency of this project, so it is untyped here, as for
// a JavaScript user.
const client = createRequire(join(import.meta.dirname, "..", "clients", "package.json"));
export const { Cloudflare, toFile, NotFoundError, AuthenticationError, PermissionDeniedError, BadRequestError } =
  client("cloudflare");

/** Creates the SDK client without retries, so that a single failure fails the test. */
export const sdk = (
  { api }: Pick<Platform, "api">,
  credentials: { apiToken: string } | { apiEmail: string; apiKey: string },
) =>
  new Cloudflare({
    baseURL: api,
    maxRetries: 0,
    timeout: 120_000,
    apiToken: null,
    apiEmail: null,
    apiKey: null,
    ...credentials,
  });

/** Resolves with all items of an auto-paging list, which must end well before `most` items. */
export async function all<Item = { id: string; name: string }>(
  list: AsyncIterable<Item>,
  most = 20_000,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) {
    items.push(item);
    assert.ok(items.length <= most, "the list does not end");
  }
  return items;
}

/** Matches the error that the client throws for a response with this status and this first error code. */
export const failsWith =
  (status: number, code: number) => (error: { status: number; errors: { code: number; message: string }[] }) => {
    assert.deepEqual([error.status, error.errors?.[0]?.code], [status, code], String(error));
    return true;
  };
