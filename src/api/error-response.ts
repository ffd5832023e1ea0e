import type { Context } from "hono";
import { isStoreError } from "../store/index.ts";
import { UserError, type Log } from "../kernel/index.ts";
import { errorItem, failure } from "./envelope.ts";
import { apiErrors } from "./errors.ts";

/** Any thrown thing as the envelope of a failure. A person's mistake is answered in words; ours is logged, and the answer only names the place in the log. */
export function errorResponse(context: Context, thrown: unknown, { id, log, headers }: { id: string; log: Log; headers: Record<string, string> }): Response {
  const errors = thrown instanceof AggregateError && thrown.errors.length > 0 && thrown.errors.every((error) => error instanceof UserError) ? (thrown.errors as UserError[]) : undefined;
  if (errors !== undefined) return context.json(failure(errors.slice(0, 20).map(errorItem)), errors[0]!.entry.http as 400, headers);
  if (!(thrown instanceof UserError)) {
    log.error({ err: thrown }, "a request failed");
    return context.json(failure([errorItem(apiErrors.internal({ id }))]), 500, headers);
  }
  if (isStoreError(thrown) && thrown.entry.http >= 500) log.error({ err: thrown }, "a request failed");
  const { retryAfter } = thrown.details;
  const wait = typeof retryAfter === "number" ? retryAfter : thrown.entry.http === 503 ? 1 : undefined;
  return context.json(failure([errorItem(thrown)]), thrown.entry.http as 400, { ...headers, ...(wait !== undefined && { "retry-after": String(wait) }) });
}
