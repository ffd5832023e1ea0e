/**
 * Test helper for workers: starts a development server on free ports inside a test of node:test, vitest or jest.
 *
 *     import { createServer } from "reelpost/test";
 *
 *     const server = await createServer();
 *     const { outcome, forwards } = await server.worker().email({ from: "ada@example.com", to: "me@example.org", text: "Hi" });
 *     await server.close();
 */

/** The build copies this file as the type definitions of the package: it must not contain code. */

export interface CreateServerOptions {
  /** Folder that the other paths are relative to. Default: the working directory. */
  dir?: string;
  /**
   * Configuration files, one per worker; the first worker is the default. Default: the one in `dir` or a parent folder.
   */
  config?: string | readonly string[];
  /** Name of an environment: `env.<name>` in the configurations. */
  environment?: string;
  /** Variables and secrets that override those in the configurations, in every worker. */
  vars?: Readonly<Record<string, unknown>>;
  /**
   * SQL files to run on D1 databases before the workers start: `FILE` or `BINDING=FILE`; `*` matches any name; matches
   * run in name order.
   */
  seeds?: readonly string[];
  /**
   * Folder for storage and mail, which `close()` keeps. Default: an empty temporary folder, which `close()` deletes.
   */
  dataDir?: string;
  /** Simulates failures for this percentage of the recipients of outgoing messages. The same `seed` repeats them. */
  chaos?: { percent: number; seed?: number };
  /** Startup timeout in milliseconds. Default 60,000. */
  startTimeout?: number;
}

/** Starts a development server. Resolves when it accepts mail and requests. Rejects with a TestServerError. */
export declare function createServer(options?: CreateServerOptions): Promise<TestServer>;

/** An error of the helper or the server. The last line of its message starts with `fix: ` and says what to do. */
export declare class TestServerError extends Error {
  /** The text after `fix: `. */
  readonly fix: string | undefined;
}

export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:54321`, without a trailing slash. */
  readonly url: string;
  readonly smtp: { readonly host: string; readonly port: number };
  /** The v4 API with the storage, queues and videos of the server, for clients such as the npm package `cloudflare`. */
  readonly api: { readonly url: string; readonly token: string; readonly account: string };
  readonly dataDir: string;
  /** Returns the worker with this name. Default: the first one. */
  worker(name?: string): TestWorker;
  /** Like `fetch` of the first worker. A URL without a host is relative to `url`. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  readonly inbox: TestInbox;
  readonly stream: TestStream;
  readonly clock: TestClock;
  readonly upstream: TestUpstream;
  readonly disk: TestDisk;
  /** The events of the server since its start or `reset()`, oldest first; at most 10,000. */
  readonly events: readonly ServerEvent[];
  /**
   * Resolves with the first event that has these properties, in `events` at index `after` (default 0) or later.
   * Rejects after `timeout` milliseconds, default 5,000.
   */
  waitForEvent(properties: Partial<ServerEvent>, options?: { after?: number; timeout?: number }): Promise<ServerEvent>;
  /** Log lines of all workers since the start, `reset()` or `clearLogs()`, oldest first. */
  getLogs(): LogLine[];
  clearLogs(): void;
  /**
   * Restarts the workers with empty storage and an empty inbox. Removes all faults, resets the clock, and keeps the
   * URL.
   */
  reset(): Promise<void>;
  /** Stops the server and its processes, and deletes its temporary folder. */
  close(): Promise<void>;
}

export interface TestWorker {
  readonly name: string;
  /**
   * Passes a message to the worker's `email` handler. Resolves when the handler and its `waitUntil()` work have ended.
   * An exception thrown by the worker is part of the result.
   */
  email(message: RawEmail | BuiltEmail): Promise<EmailResult>;
  /**
   * Sends a request to the worker. With an absolute URL the request still reaches this server; the worker receives the
   * host of the URL, and redirects are not followed.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Runs the `scheduled` handler and its `waitUntil()` work. Default of `scheduledTime`: the time of the clock. */
  scheduled(options?: { cron?: string; scheduledTime?: Date }): Promise<ScheduledResult>;
}

export interface RawEmail {
  /** Envelope sender; "" is the null sender of bounces. */
  from: string;
  /** Envelope recipient. */
  to: string;
  /** The complete message. In a string, line feeds become CRLF. */
  raw: string | Uint8Array | ReadableStream<Uint8Array>;
}

/** A message that the helper composes. */
export interface BuiltEmail {
  /** `ada@example.com` or `Ada <ada@example.com>`. */
  from: string;
  to: string;
  subject?: string;
  text?: string;
  html?: string;
  replyTo?: string;
  headers?: Readonly<Record<string, string>>;
  attachments?: readonly {
    filename: string;
    type: string;
    disposition?: "attachment" | "inline";
    contentId?: string;
    /** A string is base64. */
    content: string | Uint8Array;
  }[];
}

export interface EmailResult {
  /** Id of the message in the inbox. */
  id: string;
  outcome: "ok" | "exception";
  /** The reason passed to `setReject()`. */
  rejectReason?: string;
  forwards: { messageId: string; recipient: string; headers: [name: string, value: string][] }[];
  /** `rawBase64` is set if the message is not valid UTF-8. */
  replies: { messageId: string; sender: string; raw: string; rawBase64?: string }[];
  /**
   * Messages that the worker sent with a `send_email` binding. A message sent while the worker also handles other
   * invocations cannot be attributed to one of them; the inbox has it.
   */
  sent: { messageId: string; from: string; to: string[]; raw: string; rawBase64?: string }[];
  events: { type: string; timestamp: string; messageId?: string }[];
  logs: LogLine[];
  /** The first exception of the invocation, including those of `waitUntil()`. `help` explains common exceptions. */
  exception?: { name: string; message: string; stack?: string; help?: string };
  /** Hints from the server, for example why `reply()` was rejected. */
  warnings: string[];
}

export interface ScheduledResult {
  outcome: "ok" | "exception";
  exception?: { name: string; message: string; stack?: string };
}

export interface LogLine {
  /** Milliseconds since 1970. */
  timestamp: number;
  level: "debug" | "log" | "info" | "warn" | "error";
  /** The arguments, formatted and joined with spaces. */
  message: string;
  worker: string;
}

/** A property is absent if the kind of event does not have it. */
export interface ServerEvent {
  event:
    | "email"
    | "fetch"
    | "scheduled"
    | "queue"
    | "tail"
    | "other"
    | "sent"
    | "refused"
    | "built"
    | "unchanged"
    | "build-failed"
    | "notice"
    | "warning"
    | "error";
  worker?: string;
  outcome?: string;
  /** The text of a notice, warning or error. */
  text?: string;
  /** Name of the queue, and number of messages in the batch. */
  queue?: string;
  batchSize?: number;
  cron?: string;
  method?: string;
  url?: string;
  status?: number;
  [property: string]: unknown;
}

/** Conditions on a message. Strings match any part of the field, ignoring case. */
export interface MessageFilter {
  from?: string;
  to?: string;
  subject?: string;
  /** In the addresses, the subject, the text or the names of attachments. */
  text?: string;
  kind?: "received" | "forwarded" | "replied" | "sent";
  status?: "processing" | "accepted" | "rejected" | "failed" | "captured";
  worker?: string;
  /** Id of the received message that caused it: `EmailResult.id`. */
  cause?: string;
}

export interface TestInbox {
  /**
   * Resolves with the newest matching message, received or sent, before or after the call. Rejects after `timeout`
   * milliseconds, default 5,000, at most 60,000.
   */
  waitFor(filter?: MessageFilter, options?: { timeout?: number }): Promise<Message>;
  /** Resolves with the newest messages that match, without their content; at most 100. */
  list(filter?: MessageFilter): Promise<MessageSummary[]>;
  /** Deletes the messages that match. Resolves with their number. */
  clear(filter?: MessageFilter): Promise<number>;
}

export interface MessageSummary {
  id: string;
  kind: "received" | "forwarded" | "replied" | "sent";
  status: "processing" | "accepted" | "rejected" | "failed" | "captured";
  /** Milliseconds since 1970. */
  timestamp: number;
  /** Envelope sender and recipients. */
  from: string;
  to: string[];
  subject: string;
  messageId?: string;
  worker?: string;
  /** Id of the received message that caused it. */
  cause?: string;
}

export interface Message extends MessageSummary {
  text?: string;
  html?: string;
  headers: { name: string; value: string }[];
  attachments: { filename?: string; type: string; content: Uint8Array }[];
  raw: string;
}

export interface TestStream {
  /**
   * Uploads a video: the path of a file, or its bytes. Resolves when it can be played, or immediately if `wait` is
   * false. Rejects if it cannot be encoded. `timeout` in milliseconds, default 60,000.
   */
  upload(file: string | Uint8Array, options?: { name?: string; wait?: boolean; timeout?: number }): Promise<Video>;
  get(uid: string): Promise<Video>;
}

/** A video as in the v4 API. */
export interface Video {
  uid: string;
  readyToStream: boolean;
  status: { state: string; errorReasonCode?: string; errorReasonText?: string };
  playback: { hls: string; dash: string };
  [property: string]: unknown;
}

/** The clock of the server. `Date.now()` in workers, and Durable Object alarms, always use the system clock. */
export interface TestClock {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Advances the clock: runs each cron trigger that becomes due, in order, and makes delayed queue messages, retries
   * and expirations due. Resolves when the `scheduled` handlers have ended.
   */
  advance(duration: number | Duration): Promise<{ runs: CronRun[] }>;
}

export interface Duration {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

export interface CronRun extends ScheduledResult {
  worker: string;
  cron: string;
  scheduledTime: Date;
}

/** Recipients that a fault affects. */
export interface FaultOptions {
  /** An address; `*` stands for any characters. Default: every address. */
  to?: string;
  /** Number of recipients. Default: all until `recover()`. */
  times?: number;
}

/** The next hop of forwards, replies and sent messages. It accepts every message unless a fault applies. */
export interface TestUpstream {
  /** Replies with a failure: `451`, `451 text`, or `550 5.1.1 text`. */
  fail(reply: string, options?: FaultOptions): Promise<void>;
  /** Delays the delivery. */
  slow(milliseconds: number, options?: FaultOptions): Promise<void>;
  /** Closes the connection. */
  drop(options?: FaultOptions): Promise<void>;
  /** Does not reply for this long, default 10,000 ms; the delivery then fails temporarily. */
  hang(options?: FaultOptions & { milliseconds?: number }): Promise<void>;
  /** Removes all faults. */
  recover(): Promise<void>;
}

/** The disk of the server. Databases are not affected: KV, D1 and queues continue to work. */
export interface TestDisk {
  /**
   * Simulates a full disk: received and outgoing mail is rejected with 452, and writes to R2 and video uploads fail.
   */
  fill(): Promise<void>;
  free(): Promise<void>;
}
