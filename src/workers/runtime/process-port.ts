import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type {
  EmailOutcome,
  EntrypointCalls,
  InboundMail,
  InvocationOutcome,
  MailActions,
  QueueBatch,
  QueueOutcome,
  TailBatch,
  WorkerExports,
} from "./port.ts";
import type { Entrypoint } from "./service-calls/entrypoints.ts";

/** One workerd process running one version of one script. */
export interface WorkerProcess {
  readonly pid: number;
  /** Invocations that have not ended, including open WebSockets. */
  readonly busy: number;
  /** When the last invocation began or ended, by the clock of performance.now(). */
  readonly lastUsed: number;
  /** False as soon as its end has been decided: it must not get new work. */
  readonly alive: boolean;
  /** True if stop() was called. */
  readonly retired: boolean;
  readonly exited: Promise<void>;
  /** How long running work may take, in ms, if longer than a message or a request. */
  readonly maxInvocationMs: number;
  email(mail: InboundMail, actions: MailActions): Promise<EmailOutcome>;
  fetch(request: IncomingMessage, response: ServerResponse): Promise<InvocationOutcome>;
  scheduled(event: { cron: string; scheduledTime: Date }): Promise<InvocationOutcome>;
  queue(batch: QueueBatch): Promise<QueueOutcome>;
  tail(batch: TailBatch): Promise<InvocationOutcome>;
  readExports(): Promise<WorkerExports>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Returns undefined if the process was started without this entrypoint. */
  entrypoint(wantedEntrypoint: Entrypoint): EntrypointCalls | undefined;
  /** Resolves when only open WebSockets and idle RPC connections remain. */
  drained(): Promise<void>;
  /** Lets running work complete, for at most `graceMs`, then ends the process. */
  stop(graceMs: number, options?: { patienceMs?: number }): Promise<void>;
}
