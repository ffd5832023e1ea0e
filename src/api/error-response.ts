import { UserError, type Log } from "../kernel/index.ts";
import { isStoreError } from "../store/index.ts";
import { errorItem, failureEnvelope } from "./envelope.ts";
import { apiErrors } from "./errors.ts";

interface Failure {
  status: number;
  envelope: ReturnType<typeof failureEnvelope>;
  headers: Record<string, string>;
}

/**
 * Converts any thrown value to a failure envelope. User errors keep their text; internal errors are logged, and the
 * response refers to the log entry. `translate` maps errors for operations that have their own error table.
 */
export function failureOf(
  thrown: unknown,
  id: string,
  log: () => Log,
  translate: (error: UserError) => UserError = (error) => error,
): Failure {
  const errors =
    thrown instanceof AggregateError &&
    thrown.errors.length > 0 &&
    thrown.errors.every((error) => error instanceof UserError)
      ? (thrown.errors as UserError[])
      : undefined;
  if (errors !== undefined)
    return {
      status: errors[0]!.entry.http,
      envelope: failureEnvelope(errors.slice(0, 20).map(errorItem)),
      headers: {},
    };
  if (!(thrown instanceof UserError)) {
    log().error({ err: thrown }, "api: request failed");
    return answerOf(translate(apiErrors.internal({ id })));
  }
  if (isStoreError(thrown) && thrown.entry.http >= 500) log().error({ err: thrown }, "api: request failed");
  return answerOf(translate(thrown));
}

function answerOf(error: UserError): Failure {
  const { retryAfter, allow, result } = error.details;
  const wait = typeof retryAfter === "number" ? retryAfter : error.entry.http === 503 ? 1 : undefined;
  return {
    status: error.entry.http,
    envelope: failureEnvelope([errorItem(error)], result ?? null),
    headers: {
      ...(wait !== undefined && { "retry-after": String(wait) }),
      ...(typeof allow === "string" && { allow }),
      // The official clients retry every 409 unless this header forbids it.
      ...(error.entry.permanent === true && { "x-should-retry": "false" }),
    },
  };
}
