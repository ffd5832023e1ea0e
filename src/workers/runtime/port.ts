import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { BuiltMail, EmailSendResult } from "../ports.ts";
import type { WorkerScript } from "../scripts/script.ts";

/** Runs deployed scripts in workerd, one process for each key (a script's `key`, else its name), started when first needed. A `name` below is that key. */
export interface WorkerRuntime {
  /**
   * Makes `script` the running version of its name. Resolves once it answers; the old version finishes what it holds.
   * Rejects with UserError (and leaves the old version running) when workerd refuses the code.
   */
  deploy(script: WorkerScript, options?: { start?: boolean }): Promise<void>;
  remove(name: string): Promise<void>;
  /** Hands one message to the worker's email handler. Never rejects for what the worker's code did: that is the outcome. */
  email(name: string, mail: InboundMail, actions: MailActions): Promise<EmailOutcome>;
  /** Passes a request through to the worker's fetch handler; answers 5xx by itself when there is none to ask. Resolves with the outcome when the response has ended. */
  fetch(name: string, request: IncomingMessage, response: ServerResponse): Promise<Outcome>;
  /** Runs the scheduled handler. Resolves when its waitUntil() work has ended too; never rejects for what the worker's code did. */
  scheduled(name: string, event: { cron: string; scheduledTime: Date }): Promise<Outcome>;
  /** Names of the handlers that the worker exports (`fetch`, `email`, `scheduled`, …), as the API lists them; starts it when it rests. */
  handlers(name: string): Promise<string[]>;
  /** The same for `Upgrade` requests (WebSocket). */
  upgrade(name: string, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** One record for each finished invocation, logs included, after `waitUntil` work has ended. Returns the unsubscribe function. */
  onInvocation(listener: (invocation: Invocation) => void): () => void;
  close(): Promise<void>;
}

export interface InboundMail {
  /** The platform's own id of this message, for logs. */
  id: string;
  /** Envelope sender, "" for the null sender, and envelope recipient. */
  from: string;
  to: string;
  /** Octets of the raw message. */
  rawSize: number;
  /** Header fields in order, unfolded, values as they stand. */
  headers: [name: string, value: string][];
  /** A fresh stream of the raw message, or its bytes. */
  raw: () => Readable | Uint8Array;
  canBeForwarded: boolean;
}

/** What the handler may do with its live message. Throw UserError for a documented refusal: the worker sees its message. */
export interface MailActions {
  forward(recipient: string, headers: [name: string, value: string][]): Promise<EmailSendResult>;
  reply(mail: { from: string; to: string; raw: Readable }): Promise<EmailSendResult>;
  replyBuilt(mail: BuiltMail): Promise<EmailSendResult>;
}

export interface Outcome {
  outcome: "ok" | "exception" | "exceededCpu" | "exceededMemory" | "exceededWallTime" | "canceled";
  exception?: ThrownException;
}

export interface EmailOutcome extends Outcome {
  /** The reason given to setReject(), as given. */
  rejected?: string;
  /** Resolves when the handler's waitUntil() work has ended too: a reply may be sent from there after the answer. */
  ended: Promise<void>;
}

export interface ThrownException {
  name: string;
  message: string;
  /** Mapped to the sources where a source map is known. */
  stack?: string;
  /** When, for what workerd reported. */
  at?: Date;
}

export interface Invocation extends Outcome {
  script: string;
  version: string;
  /** As in the script. */
  account?: string;
  event:
    | { kind: "email"; id: string; from: string; to: string; rawSize: number }
    | {
        kind: "fetch";
        method: string;
        /** Path and query, as the request line has them. */
        url: string;
        /** Names in lower case, `cf-connecting-ip` among them; secret values redacted. */
        headers?: Record<string, string>;
        /** What is known of the connection, under the names of the hosted service: `httpProtocol`. */
        cf?: Record<string, unknown>;
        status?: number;
      }
    | { kind: "scheduled"; cron: string; scheduledTime: Date }
    | { kind: "other"; name: string };
  /** The reason a message was refused with, by setReject(). */
  rejected?: string;
  startedAt: Date;
  wallMs: number;
  logs: { level: "debug" | "log" | "info" | "warn" | "error"; at: Date; message: unknown[] }[];
  /** Exceptions beside the handler's own: unhandled rejections, failed waitUntil() work. */
  exceptions: ThrownException[];
}
