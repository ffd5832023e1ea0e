import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { MailBuilderFields, EmailSendResult } from "../ports.ts";
import type { QueueMessage, QueueMetrics } from "../queues/port.ts";
import type { QueueVerdict } from "./inside/shared.ts";
import type { ObjectStorage } from "../objects/storage.ts";
import type { WorkerScript } from "../scripts/script.ts";
import type { Entrypoint } from "./service-calls/entrypoints.ts";

/**
 * Runs deployed scripts in workerd, one process per key (a script's `key`, else its name), started on first use. In the
 * methods, `name` is that key.
 */
export interface WorkerRuntime {
  /** Storage of Durable Objects; absent if the runtime does not support them. */
  readonly objectStorage?: ObjectStorage | undefined;
  /** Storage of Durable Objects that the primary process of this server runs; absent in that process. */
  readonly remoteObjectStorage?: Pick<ObjectStorage, "remove" | "list"> | undefined;
  /**
   * Makes `script` the running version of its name. Resolves once it responds; the old version completes its work.
   * Rejects with UserError (and keeps the old version running) if workerd rejects the code.
   */
  deploy(script: WorkerScript, options?: { start?: boolean }): Promise<void>;
  remove(name: string): Promise<void>;
  /**
   * Passes one message to the worker's email handler. Never rejects for errors in the worker's code: those are part of
   * the outcome.
   */
  email(name: string, mail: InboundMail, actions: MailActions): Promise<EmailOutcome>;
  /**
   * Passes a request to the worker's fetch handler; responds with 5xx if there is none. Resolves with the outcome when
   * the response has ended.
   */
  fetch(name: string, request: IncomingMessage, response: ServerResponse): Promise<InvocationOutcome>;
  /**
   * Runs the scheduled handler. Resolves when the handler and its waitUntil() work have ended; never rejects for errors
   * in the worker's code.
   */
  scheduled(name: string, event: { cron: string; scheduledTime: Date }): Promise<InvocationOutcome>;
  /**
   * Runs the queue handler with a batch of messages. Resolves when the handler and its waitUntil() work have ended;
   * never rejects for errors in the worker's code.
   */
  queue(name: string, batch: QueueBatch): Promise<QueueOutcome>;
  /**
   * Runs the tail handler. Resolves when the handler and its waitUntil() work have ended; never rejects for errors in
   * the worker's code.
   */
  tail(name: string, batch: TailBatch): Promise<InvocationOutcome>;
  /** Returns the exports of the worker; starts it if it is not running. */
  readExports(name: string): Promise<WorkerExports>;
  /**
   * Makes this version of a worker with Durable Objects the one that runs and handles the calls to all versions. A
   * deploy does the same for the deployed version.
   */
  claimObjects(name: string): void;
  /**
   * Returns an entrypoint for calls from other workers. A process that was started without it is replaced. Throws
   * scriptMissing, entrypointMissing, tooManyEntrypoints.
   */
  entrypoint(name: string, entrypoint: Entrypoint): Promise<EntrypointCalls>;
  /** Like fetch(), for `Upgrade` requests (WebSocket). */
  upgrade(name: string, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /**
   * Called with one record per finished invocation, including logs, after its `waitUntil` work has ended. Returns the
   * unsubscribe function.
   */
  onInvocation(listener: (invocation: Invocation) => void): () => void;
  /**
   * Called up to four times per second for each process that works, with what its invocations used. Returns the
   * unsubscribe function.
   */
  onUsage(listener: (usage: WorkerUsage) => void): () => void;
  close(): Promise<void>;
}

export interface WorkerExports {
  /** Names of the handlers (`fetch`, `email`, `scheduled`, …), as listed by the API. */
  handlers: string[];
  /** Names of the exported classes that can be Durable Objects. */
  classes: string[];
}

/** One entrypoint of a running process. */
export interface EntrypointCalls {
  fetch(request: IncomingMessage, response: ServerResponse): Promise<InvocationOutcome>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Connects a caller that uses the RPC protocol of workerd. */
  rpc(socket: Duplex, caller: RpcCaller): RpcTunnel;
}

/** The process that opened an RPC connection. */
export interface RpcCaller {
  /** True if the process has no running invocation, so that it cannot be about to send a call. */
  isIdle(): boolean;
  /** Aborted when the called process stops: the connection is then closed once no call is running. */
  stopping?: AbortSignal;
}

export interface RpcTunnel {
  /** Closes the connection once no call is running, so that the caller reconnects to the current version. */
  retire(): void;
  readonly closed: Promise<void>;
}

export interface InboundMail {
  /** The platform's id of this message, for logs. */
  id: string;
  /** Envelope sender, "" for the null sender, and envelope recipient. */
  from: string;
  to: string;
  /** Size of the raw message in octets. */
  rawSize: number;
  /** Header fields in order, unfolded, values unchanged. */
  headers: [name: string, value: string][];
  /** Returns a new stream of the raw message, or its bytes. */
  raw: () => Readable | Uint8Array;
  canBeForwarded: boolean;
}

/**
 * Actions of the handler on its live message. They throw UserError for a documented rejection: its message is passed to
 * the worker.
 */
export interface MailActions {
  forward(recipient: string, headers: [name: string, value: string][]): Promise<EmailSendResult>;
  reply(mail: { from: string; to: string; raw: Readable }): Promise<EmailSendResult>;
  replyBuilt(mail: MailBuilderFields): Promise<EmailSendResult>;
}

export interface InvocationOutcome {
  outcome: "ok" | "exception" | "exceededCpu" | "exceededMemory" | "exceededWallTime" | "canceled";
  exception?: ThrownException;
  /** True if a static asset was served for the request and the worker was not invoked. */
  byAssets?: true;
}

export interface EmailOutcome extends InvocationOutcome {
  /** The reason passed to setReject(), unchanged. */
  rejected?: string;
  /** Present if waitUntil() was called: resolves when its promises, which may act on the message, have settled. */
  waitUntilSettled?: Promise<void>;
  /**
   * Resolves when the invocation has ended and its record is complete. Until then, code may act on the message. This
   * may take half a minute longer than `waitUntilSettled`.
   */
  ended: Promise<void>;
}

export interface QueueBatch {
  /** Name of the queue. */
  queue: string;
  messages: QueueMessage[];
  metrics: QueueMetrics;
}

export interface QueueOutcome extends InvocationOutcome, QueueVerdict {
  /** False if the handler was not called, because no process of the worker could be started. */
  started: boolean;
}

/** Trace items for one call to a tail handler. */
export interface TailBatch {
  /** JSON list of WireTraceItem. */
  items: string;
  /** The name of the worker that produced each item. */
  consumed: string[];
  /**
   * Workers whose invocations led to this call: the producers of the items and, for tail workers, their own origins.
   */
  origins: string[];
}

export interface ThrownException {
  name: string;
  message: string;
  /** Positions are mapped to the sources if a source map is known. */
  stack?: string;
  /** The time, if reported by workerd. */
  at?: Date;
}

/** An event of a Durable Object, with the fields that a tail worker receives. */
export interface ObjectInvocation {
  /** The object: 64 hex digits. */
  id: string;
  event:
    | {
        /** Names of headers in lower case; secret values redacted. */
        request: { url: string; method: string; headers: Record<string, string>; cf: Record<string, unknown> };
        /** Absent if the request received no response. */
        response?: { status: number };
      }
    | { rpcMethod: string }
    /** An alarm. ISO 8601. */
    | { scheduledTime: string }
    /** An event of a hibernating WebSocket: "message", "close" or "error". */
    | { getWebSocketEvent: { webSocketEventType: string; code?: number; wasClean?: boolean } }
    | null;
  /** The values of a request that are redacted in `event`. */
  unredacted?: { url: string; headers: Record<string, string> };
}

/** CPU time and requests of the invocations of one process since the last report. */
export interface WorkerUsage extends Pick<Invocation, "script" | "version" | "account"> {
  /** Requests of the worker: fetches, sockets, and calls of bindings. */
  subrequests: number;
  /** CPU times in microseconds of invocations that have ended: `count` of them took `us`. */
  cpuTimes: { outcome: InvocationOutcome["outcome"]; us: number; count: number }[];
}

export interface Invocation extends InvocationOutcome {
  script: string;
  version: string;
  /** The account of the script. */
  account?: string;
  event:
    | { kind: "email"; id: string; from: string; to: string; rawSize: number }
    | {
        kind: "fetch";
        method: string;
        /** Path and query, as in the request line. */
        url: string;
        /** Names in lower case, including `cf-connecting-ip`; secret values redacted. */
        headers?: Record<string, string>;
        /** Like `headers`, with the secret values. */
        allHeaders?: Record<string, string>;
        /** Properties of the connection, named as in the hosted service: `httpProtocol`. */
        cf?: Record<string, unknown>;
        status?: number;
      }
    | { kind: "scheduled"; cron: string; scheduledTime: Date }
    | { kind: "queue"; queue: string; batchSize: number }
    | { kind: "tail"; consumed: string[]; origins: string[] }
    | {
        kind: "other";
        /** The entrypoint, or the class of a Durable Object. */
        name: string;
        rpcMethod?: string;
        object?: ObjectInvocation;
      };
  /** The reason passed to setReject(), if the message was rejected. */
  rejected?: string;
  startedAt: Date;
  wallMs: number;
  logs: { level: "debug" | "log" | "info" | "warn" | "error"; at: Date; message: unknown[] }[];
  /** Exceptions other than the handler's own: unhandled rejections, failed waitUntil() work. */
  exceptions: ThrownException[];
  /** Messages that the worker published with `node:diagnostics_channel`. */
  diagnostics?: { channel: string; at: Date; message: unknown }[];
  cpuMs?: number;
  /** True if workerd omitted logs because there were too many. */
  truncated?: boolean;
}
