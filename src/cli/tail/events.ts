import type { DevEvent, ExplainedException, ConsoleLine } from "../../dev/index.ts";

type Outcome = Extract<DevEvent, { event: "email" }>["outcome"];

/** The displayed fields of a `trace-v1` record. All are optional, because the record comes from the network. */
interface Trace {
  outcome?: string;
  scriptName?: string;
  entrypoint?: string;
  exceptions?: { name?: string; message?: unknown; stack?: string }[];
  logs?: { message?: unknown; level?: string; timestamp?: number }[];
  eventTimestamp?: number;
  wallTime?: number;
  event?: Record<string, unknown> | null;
}

const OUTCOMES: readonly string[] = [
  "ok",
  "exception",
  "exceededCpu",
  "exceededMemory",
  "exceededWallTime",
  "canceled",
] satisfies Outcome[];
const LEVELS: readonly string[] = ["debug", "log", "info", "warn", "error"] satisfies ConsoleLine["level"][];

/**
 * Returns a record as an event of the `reelpost dev` console, with its time. Undefined if the frame is not a record.
 */
export function eventOfTrace(frame: unknown, script: string): { at: Date | undefined; event: DevEvent } | undefined {
  if (typeof frame !== "object" || frame === null || !("event" in frame)) return undefined;
  const trace = frame as Trace;
  const at = typeof trace.eventTimestamp === "number" ? new Date(trace.eventTimestamp) : undefined;
  return { at, event: eventOf(trace, trace.event ?? {}, script) };
}

function eventOf(trace: Trace, event: Record<string, unknown>, script: string): DevEvent {
  const common = {
    worker: text(trace.scriptName, script),
    // The protocol uses "unknown" for a worker that exceeded its time limit; the accompanying exception gives the
    // reason.
    outcome: (OUTCOMES.includes(trace.outcome ?? "") ? trace.outcome : "exception") as Outcome,
    wallMs: number(trace.wallTime),
    logs: list(trace.logs).map((line): ConsoleLine => ({
      level: (LEVELS.includes(line.level ?? "") ? line.level : "log") as ConsoleLine["level"],
      at: new Date(number(line.timestamp)),
      message: Array.isArray(line.message) ? line.message : [line.message],
    })),
    actions: [],
    exceptions: list(trace.exceptions).map(({ name, message, stack }): ExplainedException => ({
      name: text(name, "Error"),
      message: text(message),
      ...(typeof stack === "string" && { stack }),
    })),
  };
  if (event["type"] === "overload") return { event: "warning", text: text(event["message"], "records were left out") };
  if ("mailFrom" in event)
    return {
      event: "email",
      id: "",
      from: text(event["mailFrom"]),
      to: text(event["rcptTo"]),
      rawSize: number(event["rawSize"]),
      warnings: [],
      ...common,
    };
  if ("cron" in event)
    return {
      event: "scheduled",
      cron: text(event["cron"]),
      scheduledTime: new Date(number(event["scheduledTime"])),
      ...common,
    };
  const request = event["request"] as { method?: unknown; url?: unknown } | undefined;
  if (typeof request === "object" && request !== null) {
    const status = (event["response"] as { status?: unknown } | undefined)?.status;
    return {
      event: "fetch",
      method: text(request.method, "GET"),
      url: text(request.url),
      ...(typeof status === "number" && { status }),
      ...common,
    };
  }
  if ("queue" in event)
    return { event: "queue", queue: text(event["queue"]), batchSize: number(event["batchSize"]), ...common };
  if ("consumedEvents" in event)
    return {
      event: "tail",
      consumed: list(event["consumedEvents"] as { scriptName?: unknown }[]).map(({ scriptName }) =>
        text(scriptName, "?"),
      ),
      ...common,
    };
  const { worker, outcome, wallMs, logs, exceptions } = common;
  return {
    event: "other",
    name: text(event["rpcMethod"] ?? trace.entrypoint, "call"),
    worker,
    outcome,
    wallMs,
    logs,
    exceptions,
  };
}

const text = (value: unknown, fallback = ""): string =>
  typeof value === "string" ? value : value === undefined || value === null ? fallback : String(value);
const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const list = <T>(value: T[] | undefined): T[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
