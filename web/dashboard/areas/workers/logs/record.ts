import { countOf } from "../../../shared/text.ts";

/** A record of a tail, in the format `trace-v1`: one invocation of the worker. */
export interface TailRecord {
  outcome: string;
  scriptVersion?: { id: string };
  exceptions: { name: string; message: string; stack?: string; timestamp: number }[];
  logs: { message: unknown[]; level: string; timestamp: number }[];
  /** Milliseconds since 1970. */
  eventTimestamp: number;
  event: Record<string, unknown> | null;
  /** Milliseconds. */
  cpuTime: number;
  wallTime: number;
  truncated: boolean;
}

interface RequestEvent {
  request: { url: string; method: string };
  response?: { status: number };
}

/** Returns the event in a line: `GET https://example.com/ 200`. */
export function eventText({ event }: Pick<TailRecord, "event">): string {
  if (event === null) return "Invocation";
  if ("request" in event) {
    const { request, response } = event as unknown as RequestEvent;
    return `${request.method} ${request.url}${response === undefined ? "" : ` ${response.status}`}`;
  }
  if ("mailFrom" in event) return `Email from ${String(event["mailFrom"])} to ${String(event["rcptTo"])}`;
  if ("cron" in event) return `Cron ${String(event["cron"])}`;
  if ("queue" in event) return `Queue ${String(event["queue"])}, ${countOf(Number(event["batchSize"]), "message")}`;
  if ("rpcMethod" in event) return `RPC call to ${String(event["rpcMethod"])}()`;
  if ("consumedEvents" in event) return "Tail events";
  return typeof event["message"] === "string" ? event["message"] : "Invocation";
}

/** Returns the arguments of a console call, as a terminal shows them. */
export const messageText = (message: readonly unknown[]): string =>
  message.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");

/** Returns all text of a record, for the search. */
export const recordText = (record: TailRecord): string =>
  [
    eventText(record),
    ...record.logs.map(({ message }) => messageText(message)),
    ...record.exceptions.map(({ name, message, stack = "" }) => `${name}: ${message} ${stack}`),
  ]
    .join("\n")
    .toLowerCase();
