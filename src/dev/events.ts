import type { Invocation, ThrownException } from "../workers/index.ts";

/** An event for the console: printed as one block of lines or one JSON object. */
export type DevEvent =
  | EmailEvent
  | FetchEvent
  | ScheduledEvent
  | QueueEvent
  | TailEvent
  | {
      event: "other";
      worker: string;
      name: string;
      wallMs: number;
      outcome: Invocation["outcome"];
      logs: ConsoleLine[];
      exceptions: ExplainedException[];
    }
  | SentEvent
  | { event: "refused"; from: string; to: string[]; reason: string }
  | { event: "built"; worker: string; version: string; ms: number; bytes: number; reason: "start" | "change" | "key" }
  | { event: "unchanged"; worker: string }
  | { event: "build-failed"; worker: string; message: string; running: boolean }
  | { event: "notice" | "warning" | "error"; text: string };

export interface ConsoleLine {
  level: Invocation["logs"][number]["level"];
  at: Date;
  message: unknown[];
}

/** An exception, with help for newcomers if available. */
export interface ExplainedException extends ThrownException {
  help?: string;
}

/** A mail action of the worker, and the files it wrote. */
export interface MailAction {
  action: "forward" | "reply" | "send";
  from: string;
  to: string[];
  messageId: string;
  /** The `.eml` file first, then the parts of a builder message. */
  files: string[];
}

export interface EmailEvent {
  event: "email";
  worker: string;
  id: string;
  from: string;
  to: string;
  rawSize: number;
  wallMs: number;
  outcome: Invocation["outcome"];
  rejected?: string;
  warnings: string[];
  logs: ConsoleLine[];
  actions: MailAction[];
  exceptions: ExplainedException[];
}

export interface FetchEvent {
  event: "fetch";
  worker: string;
  method: string;
  url: string;
  status?: number;
  wallMs: number;
  outcome: Invocation["outcome"];
  logs: ConsoleLine[];
  actions: MailAction[];
  exceptions: ExplainedException[];
}

export interface ScheduledEvent {
  event: "scheduled";
  worker: string;
  cron: string;
  scheduledTime: Date;
  wallMs: number;
  outcome: Invocation["outcome"];
  logs: ConsoleLine[];
  actions: MailAction[];
  exceptions: ExplainedException[];
}

export interface QueueEvent {
  event: "queue";
  worker: string;
  queue: string;
  batchSize: number;
  wallMs: number;
  outcome: Invocation["outcome"];
  logs: ConsoleLine[];
  actions: MailAction[];
  exceptions: ExplainedException[];
}

export interface TailEvent {
  event: "tail";
  worker: string;
  /** Name of the worker that produced each trace item. */
  consumed: string[];
  wallMs: number;
  outcome: Invocation["outcome"];
  logs: ConsoleLine[];
  actions: MailAction[];
  exceptions: ExplainedException[];
}

/** Mail that cannot be attributed to one invocation, because several invocations or none were running. */
interface SentEvent extends MailAction {
  event: "sent";
  worker: string;
}

export type EventReporter = (event: DevEvent) => void;
