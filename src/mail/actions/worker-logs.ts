import { inspect } from "node:util";
import type { Invocation, WorkerRuntime } from "../../workers/index.ts";
import type { Trace } from "../messages/index.ts";

/** The message that an invocation of a worker handles. */
interface HandledMessage {
  message: string;
  rcpt: string;
  account?: string | undefined;
  zone?: string | undefined;
}

export interface WorkerLogs {
  /** Must be called before the invocation with this id starts. */
  expect(invocation: string, handled: HandledMessage): void;
  close(): void;
}

/**
 * Maximum number of invocations that have not ended. Beyond it, the oldest are forgotten: their logs are not recorded.
 */
const MAX_EXPECTED = 10_000;
const MAX_LINES = 50;

/** Copies what workers log while they handle messages to the message log. */
export function createWorkerLogs({
  runtime,
  record,
}: {
  runtime: Pick<WorkerRuntime, "onInvocation">;
  record: Trace;
}): WorkerLogs {
  const expected = new Map<string, HandledMessage>();

  const unsubscribe = runtime.onInvocation((invocation) => {
    const { event, startedAt, wallMs } = invocation;
    if (event.kind !== "email") return;
    const handled = expected.get(event.id);
    expected.delete(event.id);
    const logs = linesOf(invocation);
    if (handled === undefined || logs.length === 0) return;
    const { message, rcpt, account, zone } = handled;
    record({
      message,
      at: new Date(startedAt.getTime() + wallMs),
      step: "logged",
      rcpt,
      ...(account !== undefined && { account }),
      ...(zone !== undefined && { zone }),
      detail: { logs },
    });
  });

  return {
    expect(invocation, handled) {
      if (expected.size >= MAX_EXPECTED) expected.delete(expected.keys().next().value!);
      expected.set(invocation, handled);
    },
    close: unsubscribe,
  };
}

function linesOf({ logs, exceptions, startedAt, wallMs, truncated }: Invocation) {
  return [
    ...logs.slice(0, MAX_LINES).map(({ level, at, message }) => ({
      at: at.getTime(),
      level,
      text: message
        .map((part) => (typeof part === "string" ? part : inspect(part, { breakLength: Infinity })))
        .join(" "),
    })),
    ...exceptions.map(({ name, message, at }) => ({
      at: at?.getTime() ?? startedAt.getTime() + wallMs,
      level: "error",
      text: `${name}: ${message}`,
    })),
    ...(logs.length > MAX_LINES || truncated === true
      ? [{ at: startedAt.getTime() + wallMs, level: "warn", text: "(further lines are not recorded)" }]
      : []),
  ];
}
