import { Worker } from "node:worker_threads";
import { Fault, messageOf } from "../../kernel/index.ts";
import { mailErrors } from "../errors.ts";
import type { MailSource } from "../messages/index.ts";
import type { LookupType, Resolver } from "./resolver.ts";
import type { SignatureOptions, SignatureResults } from "./signatures.ts";

/**
 * Threads that check the signatures of large messages: hashing 20 MB takes almost 200 ms and would block all other
 * sessions. They start on demand and end when idle.
 */
interface BodyThreads {
  /**
   * `header` replaces the header section of the source. Rejects with a UserError that has a 4xx reply on a temporary
   * failure.
   */
  verify(
    source: MailSource,
    header: Uint8Array,
    resolver: Resolver,
    options: SignatureOptions,
  ): Promise<SignatureResults>;
  /** Ends the threads; running jobs fail. */
  close(): Promise<void>;
}

export interface BodyThreadsOptions {
  /** Default 2. */
  threads?: number;
  /** Maximum number of messages waiting for a thread. Default 50. */
  maxWaiting?: number;
  /** Milliseconds per message, including its DNS queries. Default 60000. */
  jobMs?: number;
  /** Milliseconds after which an idle thread ends. Default 30000. */
  idleMs?: number;
}

export interface VerifyJob {
  header: Uint8Array;
  body: { kind: "file"; path: string; start: number } | { kind: "pieces" };
  options: SignatureOptions;
}

type Answer = { ok: true; value: unknown[] } | { ok: false; code: string; message: string };
export type ToThread =
  | { kind: "verify"; job: VerifyJob }
  | { kind: "piece"; bytes: Uint8Array }
  | { kind: "end" }
  | { kind: "answer"; id: number; answer: Answer };
export type FromThread =
  | { kind: "ask"; id: number; name: string; type: LookupType }
  | { kind: "more" }
  | { kind: "done"; results: SignatureResults }
  | { kind: "failed"; message: string };

const MODULE = new URL(import.meta.url.endsWith(".ts") ? "./body-thread.ts" : "./body-thread.js", import.meta.url);
const HEAP_MB = 256;
const CHUNK_BYTES = 1024 * 1024;
/** Maximum number of chunks in flight to a thread. */
const WINDOW = 3;

interface Thread {
  worker: Worker;
  idle?: NodeJS.Timeout;
}

export function createBodyThreads({
  threads = 2,
  maxWaiting = 50,
  jobMs = 60_000,
  idleMs = 30_000,
}: BodyThreadsOptions = {}): BodyThreads {
  const allThreads = new Set<Thread>();
  const free: Thread[] = [];
  const queue: { start: (thread: Thread) => void; refuse: (err: Error) => void }[] = [];
  let closed = false;

  function start(): Thread {
    const worker = new Worker(MODULE, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }, env: {} });
    // A thread that dies while idle is discarded; one that dies during a job also fails the job.
    worker.on("error", () => {});
    worker.unref();
    const thread: Thread = { worker };
    worker.once("exit", () => drop(thread));
    allThreads.add(thread);
    return thread;
  }

  function drop(thread: Thread) {
    clearTimeout(thread.idle);
    allThreads.delete(thread);
    const at = free.indexOf(thread);
    if (at !== -1) free.splice(at, 1);
    if (!closed && queue.length > 0 && allThreads.size < threads) queue.shift()!.start(start());
  }

  async function end(thread: Thread) {
    drop(thread);
    await thread.worker.terminate();
  }

  function acquireThread(): Promise<Thread> {
    if (closed) return Promise.reject(mailErrors.verifierBusy());
    const thread = free.pop();
    if (thread !== undefined) {
      clearTimeout(thread.idle);
      return Promise.resolve(thread);
    }
    if (allThreads.size < threads) return Promise.resolve(start());
    if (queue.length >= maxWaiting) return Promise.reject(mailErrors.verifierBusy());
    return new Promise((resolve, reject) => queue.push({ start: resolve, refuse: reject }));
  }

  function releaseThread(thread: Thread) {
    if (!allThreads.has(thread)) return;
    const next = queue.shift();
    if (next !== undefined) return next.start(thread);
    thread.worker.unref();
    thread.idle = setTimeout(() => void end(thread), idleMs).unref();
    free.push(thread);
  }

  return {
    async verify(source, header, resolver, options) {
      const thread = await acquireThread();
      try {
        const results = await runJob(thread.worker, source, { header, options, body: bodyOf(source) }, resolver, jobMs);
        releaseThread(thread);
        return results;
      } catch (err) {
        // The job may still be running in the thread, so the thread is not reused.
        await end(thread);
        throw mailErrors.verifierFailed({}, { cause: err });
      }
    },
    async close() {
      closed = true;
      for (const { refuse } of queue.splice(0)) refuse(mailErrors.verifierBusy());
      await Promise.all([...allThreads].map(end));
    },
  };
}

const bodyOf = ({ file, headerBlock }: MailSource): VerifyJob["body"] =>
  file === undefined ? { kind: "pieces" } : { kind: "file", path: file, start: headerBlock.length };

function runJob(
  worker: Worker,
  source: MailSource,
  job: VerifyJob,
  resolver: Resolver,
  jobMs: number,
): Promise<SignatureResults> {
  const { promise, resolve, reject } = Promise.withResolvers<SignatureResults>();
  const window = createSendWindow(WINDOW);
  const post = (message: ToThread) => worker.postMessage(message);
  const timeoutTimer = setTimeout(
    () => reject(new Fault(`verifying the signatures of a message took longer than ${jobMs} ms`)),
    jobMs,
  );
  const onExit = (code: number) => reject(new Fault(`a signature verification thread exited with code ${code}`));

  function onMessage(message: FromThread) {
    switch (message.kind) {
      case "done":
        return resolve(message.results);
      case "failed":
        return reject(new Fault(`checking signatures failed: ${message.message}`));
      case "more":
        return window.more();
      case "ask":
        return void resolveQuery(resolver, message.name, message.type).then((answer) =>
          post({ kind: "answer", id: message.id, answer }),
        );
    }
  }

  worker.ref();
  worker.on("message", onMessage).on("error", reject).on("exit", onExit);
  post({ kind: "verify", job });
  if (job.body.kind === "pieces") sendBody(source, post, window).catch(reject);
  return promise.finally(() => {
    clearTimeout(timeoutTimer);
    window.close();
    worker.off("message", onMessage).off("error", reject).off("exit", onExit);
  });
}

async function resolveQuery(resolver: Resolver, name: string, type: LookupType): Promise<Answer> {
  try {
    return { ok: true, value: await resolver(name, type) };
  } catch (err) {
    const code = (err as { code?: unknown } | undefined)?.code;
    return { ok: false, code: typeof code === "string" ? code : "ESERVFAIL", message: messageOf(err) };
  }
}

async function sendBody(source: MailSource, post: (message: ToThread) => void, window: SendWindow) {
  const body = source.open(source.headerBlock.length);
  for await (const piece of body instanceof Uint8Array ? cut(body) : (body as AsyncIterable<Uint8Array>)) {
    if (!(await window.acquire())) return;
    post({ kind: "piece", bytes: piece });
  }
  post({ kind: "end" });
}

function* cut(bytes: Uint8Array) {
  // Copies the chunk: transferring a view would include its whole buffer.
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.slice(at, at + CHUNK_BYTES);
}

interface SendWindow {
  /** Resolves with true when another chunk may be sent, with false when the receiver has finished. */
  acquire(): Promise<boolean>;
  more(): void;
  close(): void;
}

function createSendWindow(size: number): SendWindow {
  let left = size;
  let closed = false;
  let wake: (() => void) | undefined;
  const isFull = () => left === 0 && !closed;
  return {
    async acquire() {
      while (isFull()) await new Promise<void>((resolve) => (wake = resolve));
      left--;
      return !closed;
    },
    more() {
      left++;
      wake?.();
    },
    close() {
      closed = true;
      wake?.();
    },
  };
}
