import type { Invocation, ObjectInvocation, ThrownException } from "../runtime/port.ts";
import { redactUrl } from "./redact-url.ts";

/** One record in the `trace-v1` format: a JSON object in a text frame. Clients pass unknown fields through. */
export interface TraceRecord {
  outcome: TraceOutcome;
  scriptName: string;
  scriptVersion: { id: string };
  /** The called entrypoint, if it was not the default export; the class of a Durable Object. */
  entrypoint?: string;
  /** The Durable Object that handled the event: 64 hex digits. */
  durableObjectId?: string;
  exceptions: { name: string; message: string; stack?: string; timestamp: number }[];
  logs: { message: unknown[]; level: string; timestamp: number }[];
  /** Epoch milliseconds, like every timestamp here. */
  eventTimestamp: number;
  event: TraceEvent | null;
  /** Milliseconds, as reported by workerd. */
  cpuTime: number;
  wallTime: number;
  truncated: boolean;
  executionModel: "stateless" | "durableObject";
  diagnosticsChannelEvents: { timestamp: number; channel: string; message: unknown }[];
}

type TraceOutcome = "ok" | "exception" | "exceededCpu" | "exceededMemory" | "canceled" | "unknown";

type TraceEvent =
  | {
      request: { url: string; method: string; headers: Record<string, string>; cf: Record<string, unknown> };
      response?: { status: number };
    }
  | { mailFrom: string; rcptTo: string; rawSize: number }
  | { cron: string; scheduledTime: number }
  | { queue: string; batchSize: number }
  | { consumedEvents: { scriptName: string }[] }
  | { rpcMethod: string }
  | NonNullable<ObjectInvocation["event"]>
  /** About the tail itself, not the worker; clients print the message. */
  | { type: "overload"; message: string };

export function traceOf(invocation: Invocation): TraceRecord {
  const { outcome, event, startedAt, wallMs, logs, exception, exceptions, script, version } = invocation;
  const { diagnostics = [], cpuMs = 0, truncated = false } = invocation;
  const end = startedAt.getTime() + wallMs;
  return {
    ...emptyTrace(script, version, startedAt.getTime()),
    outcome: OUTCOMES[outcome],
    ...(event.kind === "other" && { entrypoint: event.name }),
    ...(event.kind === "other" &&
      event.object !== undefined && { executionModel: "durableObject", durableObjectId: event.object.id }),
    exceptions: [...(exception === undefined ? [] : [exception]), ...exceptions].map((entry) =>
      exceptionOf(entry, end),
    ),
    logs: logs.map(({ message, level, at }) => ({ message, level, timestamp: at.getTime() })),
    event: eventOf(event),
    cpuTime: cpuMs,
    wallTime: wallMs,
    truncated,
    diagnosticsChannelEvents: diagnostics.map(({ at, ...rest }) => ({ timestamp: at.getTime(), ...rest })),
  };
}

/** Notifies a reader of lost records. */
export const lossTrace = (script: string, lostCount: number, at: number): TraceRecord => ({
  ...emptyTrace(script, "", at),
  event: {
    type: "overload",
    message: `${lostCount} ${lostCount === 1 ? "record was" : "records were"} dropped: they arrived faster than they were read. Use a filter or a sampling rate to receive fewer.`,
  },
});

const emptyTrace = (scriptName: string, version: string, eventTimestamp: number): TraceRecord => ({
  outcome: "ok",
  scriptName,
  scriptVersion: { id: version },
  exceptions: [],
  logs: [],
  eventTimestamp,
  event: null,
  cpuTime: 0,
  wallTime: 0,
  truncated: false,
  executionModel: "stateless",
  diagnosticsChannelEvents: [],
});

/** The protocol has no outcome for wall time; clients show "unknown" as an error, and the exception has the reason. */
const OUTCOMES: Record<Invocation["outcome"], TraceOutcome> = {
  ok: "ok",
  exception: "exception",
  exceededCpu: "exceededCpu",
  exceededMemory: "exceededMemory",
  exceededWallTime: "unknown",
  canceled: "canceled",
};

function eventOf(event: Invocation["event"]): TraceEvent | null {
  switch (event.kind) {
    case "email":
      return { mailFrom: event.from, rcptTo: event.to, rawSize: event.rawSize };
    case "scheduled":
      return { cron: event.cron, scheduledTime: event.scheduledTime.getTime() };
    case "queue":
      return { queue: event.queue, batchSize: event.batchSize };
    case "fetch": {
      const { url, method, headers = {}, cf = {}, status } = event;
      return {
        request: { url: redactUrl(absoluteUrl(url, headers)), method, headers, cf },
        ...(status !== undefined && { response: { status } }),
      };
    }
    case "tail":
      return { consumedEvents: event.consumed.map((scriptName) => ({ scriptName })) };
    case "other":
      if (event.object !== undefined) return event.object.event;
      return event.rpcMethod === undefined ? null : { rpcMethod: event.rpcMethod };
  }
}

/** Builds the absolute URL of a request from its request target and headers. */
export function absoluteUrl(url: string, headers: Record<string, string>): string {
  if (!url.startsWith("/")) return url;
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host ?? "localhost"}${url}`;
}

/**
 * An exception thrown by a handler ends it, so the exception's time is the end of the handler. The first line of a
 * stack repeats the name and message in the other fields.
 */
function exceptionOf({ name, message, stack, at }: ThrownException, end: number): TraceRecord["exceptions"][number] {
  const head = `${name}: ${message}`;
  const frames = stack?.startsWith(head) === true ? stack.slice(head.length).replace(/^\n/, "") : stack;
  return {
    name,
    message,
    ...(frames !== undefined && frames !== "" && { stack: frames }),
    timestamp: at?.getTime() ?? end,
  };
}
