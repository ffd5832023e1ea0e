import { withoutInternal } from "./fetch-event.ts";
import {
  type RequestedEvent,
  DISPATCH_HEADER,
  EVENT_HEADER,
  MAIL_ENTRYPOINT,
  OBJECT_MODEL,
  TAIL_MARK,
} from "./inside/shared.ts";
import { mapException, type StackMapper } from "./stacks.ts";
import type { Invocation, InvocationOutcome, ObjectInvocation, ThrownException } from "./port.ts";

/**
 * The JSON that workerd passes to a tail worker: https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/
 */
export interface TraceItem {
  event: {
    request?: { url: string; method: string; headers: Record<string, string>; cf?: Record<string, unknown> };
    response?: { status: number };
    rpcMethod?: string;
    /** ISO 8601. */
    scheduledTime?: string;
    getWebSocketEvent?: { webSocketEventType: string; code?: number; wasClean?: boolean };
  } | null;
  eventTimestamp: number | null;
  logs: { timestamp: number; level: string; message: unknown }[];
  exceptions: { timestamp: number; name: string; message: string; stack?: string }[];
  outcome: string;
  entrypoint?: string;
  diagnosticsChannelEvents?: { timestamp: number; channel: string; message: unknown }[];
  cpuTime?: number;
  truncated?: boolean;
  executionModel?: string;
  durableObjectId?: string;
  /** Added by inside/tail.ts to a request to a Durable Object. */
  unredacted?: { url: string; headers: Record<string, string> };
}

/** The header in which the hosted service sends a request id; here it carries the invocation id through the tail. */
export const RAY_HEADER = "cf-ray";

/** True for an event of a Durable Object: a request, method call, alarm, or event of a hibernating WebSocket. */
export const isObjectEvent = ({ executionModel }: TraceItem): boolean => executionModel === OBJECT_MODEL;

export const isAlarm = (item: TraceItem): boolean => isObjectEvent(item) && item.event?.scheduledTime !== undefined;

/** Undefined if the item is not about an event of a Durable Object. */
export function objectInvocationOf(item: TraceItem): ObjectInvocation | undefined {
  const { durableObjectId: id, unredacted } = item;
  if (!isObjectEvent(item) || id === undefined) return undefined;
  return {
    id,
    event: objectEventOf(item.event ?? {}),
    ...(unredacted !== undefined && { unredacted: { ...unredacted, headers: withoutInternal(unredacted.headers) } }),
  };
}

function objectEventOf(event: NonNullable<TraceItem["event"]>): ObjectInvocation["event"] {
  const { request, response, rpcMethod, scheduledTime, getWebSocketEvent } = event;
  if (request !== undefined) {
    // Removes clientPid and clientUid, which describe the process that connected to workerd.
    const { clientPid: _pid, clientUid: _uid, ...cf } = request.cf ?? {};
    const { url, method, headers } = request;
    return {
      request: { url, method, headers: withoutInternal(headers), cf },
      ...(response !== undefined && { response }),
    };
  }
  if (rpcMethod !== undefined) return { rpcMethod };
  if (scheduledTime !== undefined) return { scheduledTime };
  return getWebSocketEvent === undefined ? null : { getWebSocketEvent };
}

/**
 * Returns the invocation id of an item; undefined for an event of a Durable Object, which is a separate invocation
 * although workers often pass their own request, including its headers, to an object.
 */
export const invocationIdOf = (item: TraceItem): string | undefined =>
  isObjectEvent(item) ? undefined : idInHeaders(item);

const idInHeaders = (item: TraceItem): string | undefined =>
  item.event?.request?.headers[DISPATCH_HEADER] ?? item.event?.request?.headers[RAY_HEADER];

const HANDLERS: RequestedEvent = "handlers";

/**
 * True for the server's own call to a worker that was just started. The call is not an invocation to report, but on a
 * busy machine workerd includes it in a tail.
 */
export const isStartupQuery = (item: TraceItem): boolean =>
  item.entrypoint === MAIL_ENTRYPOINT && item.event?.request?.headers[EVENT_HEADER] === HANDLERS;

export const logsOf = (item: TraceItem, mapStack: StackMapper): Invocation["logs"] =>
  item.logs
    .filter(({ message }) => !(Array.isArray(message) && message[0] === TAIL_MARK))
    .map(({ timestamp, level, message }) => ({
      level: isLevel(level) ? level : "log",
      at: new Date(timestamp),
      message: (Array.isArray(message) ? message : [message]).map((part) => (isStack(part) ? mapStack(part) : part)),
    }));

type InvocationDetails = Required<Pick<Invocation, "diagnostics" | "cpuMs" | "truncated">>;

export const invocationDetailsOf = ({
  diagnosticsChannelEvents = [],
  cpuTime = 0,
  truncated = false,
}: TraceItem): InvocationDetails => ({
  diagnostics: diagnosticsChannelEvents.map(({ timestamp, channel, message }) => ({
    at: new Date(timestamp),
    channel,
    message,
  })),
  cpuMs: cpuTime,
  truncated,
});

/** A logged error arrives as its stack text. */
const isStack = (part: unknown): part is string => typeof part === "string" && part.includes("\n    at ");

export const exceptionsOf = (item: TraceItem, mapStack: StackMapper): ThrownException[] =>
  item.exceptions
    .filter(({ message }) => !(item.event?.rpcMethod !== undefined && HUNG.test(message)))
    .map(({ name, message, stack, timestamp }) =>
      mapException({ name, message, stack, at: new Date(timestamp) }, mapStack),
    );

/**
 * workerd reports this for every failed RPC call, whether the method threw or hung, and omits the error thrown. The
 * caller receives the actual error.
 */
const HUNG = /^The Workers runtime canceled this request because it detected that your Worker's code had hung\b/;

const OUTCOMES = new Set<InvocationOutcome["outcome"]>([
  "ok",
  "exception",
  "exceededCpu",
  "exceededMemory",
  "exceededWallTime",
  "canceled",
]);

export const invocationOutcome = (item: TraceItem): InvocationOutcome["outcome"] =>
  OUTCOMES.has(item.outcome as InvocationOutcome["outcome"])
    ? (item.outcome as InvocationOutcome["outcome"])
    : "exception";

type Level = Invocation["logs"][number]["level"];
const isLevel = (level: string): level is Level =>
  level === "debug" || level === "log" || level === "info" || level === "warn" || level === "error";
