import type { Clock, Log } from "../../../kernel/index.ts";
import { d1Errors } from "./errors.ts";
import { startHostProcess, type D1HostProcess } from "./host-process.ts";
import type { D1Limits } from "./limits.ts";

/** Assigns every database file to one of a few processes, and sends every process one request at a time. */
interface Hosts {
  /**
   * Requests of one file run in order of arrival. Rejects with an error of `d1Errors`; after such an error no part of
   * the request is in the file, except possibly after `reset`.
   */
  run(file: string, options: Record<string, unknown>, body: Uint8Array, signal?: AbortSignal): Promise<Buffer>;
  /**
   * Runs `work` while no process has the file open; such calls for the same file run one after the other. Requests wait
   * meanwhile; with `busy`, requests that have waited for `afterMs` are rejected, as are all later ones while `work`
   * runs.
   */
  runExclusively<Result>(file: string, work: () => Promise<Result>, busy?: Busy): Promise<Result>;
  close(): Promise<void>;
}

interface Busy {
  afterMs: number;
  error(): Error;
}

interface HostsOptions {
  /** The directory of the files; it must exist. */
  directory: string;
  limits: D1Limits;
  clock: Clock;
  log: Log;
  /** Maximum number of processes. Each takes about 60 MB. */
  processes: number;
  /** Idle time after which a file is closed and a process without files ends. */
  idleMs: number;
}

/** The requests of one file. */
interface FileQueue {
  file: string;
  jobs: Job[];
  host: Host | undefined;
  /** Queued at a host, or running. */
  placed: boolean;
  /** While above 0, nothing runs; see runExclusively(). */
  paused: number;
  /** Settles when the last work that needs exclusive access to the file has finished. */
  exclusiveWork: Promise<unknown>;
  /** Returns the error for requests that are rejected while such exclusive work is running. */
  busy: (() => Error) | undefined;
  lastUsed: number;
}

interface Job {
  options: Record<string, unknown>;
  body: Uint8Array;
  since: number;
  signal: AbortSignal | undefined;
  resolve(answer: Buffer): void;
  reject(reason: unknown): void;
}

interface Host {
  process: D1HostProcess;
  line: FileQueue[];
  serving: boolean;
  /** Number of completed requests: if unchanged for a while with a non-empty queue, the process is stuck. */
  completed: number;
  reassignTimer: NodeJS.Timeout | undefined;
  files: Set<string>;
  /** Files to close before the next request, each with the callback that waits for it. */
  closing: Map<string, () => void>;
  dead: boolean;
  idleSince: number;
}

/** How long requests for other files wait for a busy process before they move to another one. */
const REASSIGN_AFTER_MS = 200;

export function createHosts({ directory, limits, clock, log, processes, idleMs }: HostsOptions): Hosts {
  const hosts = new Set<Host>();
  const fileQueues = new Map<string, FileQueue>();
  const endingHosts = new Set<Promise<void>>();
  let waitingBytes = 0;
  let isClosed = false;
  const sweeper = setInterval(sweep, Math.max(idleMs / 2, 10));
  sweeper.unref();

  function start(): Host {
    const host: Host = {
      process: startHostProcess({
        directory,
        limits,
        onLost: (reason) => log.error({ reason }, "d1: database process ended unexpectedly"),
      }),
      line: [],
      serving: false,
      completed: 0,
      reassignTimer: undefined,
      files: new Set(),
      closing: new Map(),
      dead: false,
      idleSince: clock.now(),
    };
    hosts.add(host);
    void host.process.ended.then(() => removeHost(host));
    return host;
  }

  function removeHost(host: Host) {
    host.dead = true;
    hosts.delete(host);
    clearTimeout(host.reassignTimer);
    for (const done of host.closing.values()) done();
    for (const fileQueue of fileQueues.values()) if (fileQueue.host === host) fileQueue.host = undefined;
    for (const fileQueue of host.line.splice(0)) place(fileQueue);
  }

  /**
   * Adds the file to the queue of a process: its current one if that is free or `avoidedHost` is not set, else a free
   * one, a new one, or the one with the shortest queue.
   */
  function place(fileQueue: FileQueue, avoidedHost?: Host) {
    fileQueue.placed = fileQueue.paused === 0 && fileQueue.jobs.length > 0;
    if (!fileQueue.placed) return;
    let host: Host;
    try {
      host = choose(fileQueue, avoidedHost);
    } catch (cause) {
      // No process can be started now; the next request retries.
      log.error({ err: cause, file: fileQueue.file }, "d1: failed to start a database process");
      fileQueue.placed = false;
      for (const job of fileQueue.jobs.splice(0)) {
        waitingBytes -= job.body.length;
        job.reject(d1Errors.reset({}, { cause }));
      }
      return;
    }
    if (fileQueue.host && fileQueue.host !== host && fileQueue.host.files.has(fileQueue.file))
      fileQueue.host.closing.set(fileQueue.file, () => {});
    fileQueue.host = host;
    host.line.push(fileQueue);
    if (host.serving) watch(host);
    else void serve(host);
  }

  function choose(fileQueue: FileQueue, avoidedHost: Host | undefined): Host {
    if (fileQueue.host && fileQueue.host !== avoidedHost && !fileQueue.host.dead) return fileQueue.host;
    const liveHosts = [...hosts].filter((host) => !host.dead);
    const otherHosts = liveHosts.filter((host) => host !== avoidedHost);
    const idleHost = otherHosts.find((host) => !host.serving);
    if (idleHost) return idleHost;
    if (liveHosts.length < processes) return start();
    return otherHosts.sort((a, b) => a.line.length - b.line.length)[0] ?? avoidedHost!;
  }

  /**
   * A slow query must delay only its own database: the other files in the queue of its process move to another process.
   */
  function watch(host: Host) {
    if (host.reassignTimer || processes === 1) return;
    const completedBefore = host.completed;
    host.reassignTimer = setTimeout(() => {
      host.reassignTimer = undefined;
      if (host.line.length === 0 || host.dead) return;
      if (host.completed !== completedBefore) return watch(host);
      for (const fileQueue of host.line.splice(0)) place(fileQueue, host);
    }, REASSIGN_AFTER_MS);
    host.reassignTimer.unref();
  }

  async function serve(host: Host) {
    host.serving = true;
    while (!host.dead && (host.closing.size > 0 || host.line.length > 0)) {
      if (host.closing.size > 0) await closeFiles(host);
      const fileQueue = host.line.shift();
      if (!fileQueue) continue;
      const job = fileQueue.paused > 0 ? undefined : fileQueue.jobs.shift();
      if (!job) {
        fileQueue.placed = false;
        continue;
      }
      await runJob(host, fileQueue, job);
      fileQueue.lastUsed = clock.now();
      host.completed++;
      place(fileQueue);
    }
    host.serving = false;
    host.idleSince = clock.now();
  }

  async function closeFiles(host: Host) {
    for (const [file, done] of host.closing) {
      host.closing.delete(file);
      host.files.delete(file);
      await host.process.request({ op: "close", file }).catch(() => {});
      done();
    }
  }

  async function runJob(host: Host, fileQueue: FileQueue, job: Job) {
    waitingBytes -= job.body.length;
    if (job.signal?.aborted) return job.reject(job.signal.reason);
    if (clock.now() - job.since > limits.waitMs) return job.reject(d1Errors.waitedTooLong());
    host.files.add(fileQueue.file);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      log.warn({ file: fileQueue.file, requestMs: limits.requestMs }, "d1: request timed out, process killed");
      host.process.kill();
    }, limits.requestMs);
    try {
      const { header, body } = await host.process.request(
        { op: "run", file: fileQueue.file, options: job.options },
        job.body,
      );
      if (header.fault === undefined) return job.resolve(body);
      log.error({ file: fileQueue.file, reason: header.fault }, "d1: failed to open a database");
      job.reject(d1Errors.reset({}, { cause: header.fault }));
    } catch (cause) {
      host.dead = true;
      job.reject(
        isLate ? d1Errors.ranTooLong(limits as unknown as Record<string, unknown>) : d1Errors.reset({}, { cause }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  function fileQueueOf(file: string): FileQueue {
    let fileQueue = fileQueues.get(file);
    if (!fileQueue)
      fileQueues.set(
        file,
        (fileQueue = {
          file,
          jobs: [],
          host: undefined,
          placed: false,
          paused: 0,
          exclusiveWork: Promise.resolve(),
          busy: undefined,
          lastUsed: clock.now(),
        }),
      );
    return fileQueue;
  }

  function rejectJobs(fileQueue: FileQueue, { error }: Busy) {
    fileQueue.busy = error;
    for (const job of fileQueue.jobs.splice(0)) {
      waitingBytes -= job.body.length;
      job.reject(error());
    }
  }

  function closeIn(host: Host, file: string): Promise<void> {
    return new Promise((resolve) => {
      host.closing.set(file, resolve);
      if (!host.serving) void serve(host);
    });
  }

  function sweep() {
    const before = clock.now() - idleMs;
    for (const fileQueue of fileQueues.values()) {
      if (fileQueue.placed || fileQueue.paused > 0 || fileQueue.lastUsed > before) continue;
      fileQueues.delete(fileQueue.file);
      if (fileQueue.host?.files.has(fileQueue.file)) void closeIn(fileQueue.host, fileQueue.file);
    }
    for (const host of hosts) {
      if (host.serving || host.files.size > 0 || host.idleSince > before) continue;
      host.dead = true;
      hosts.delete(host);
      const hostEnd = host.process.end();
      endingHosts.add(hostEnd);
      void hostEnd.then(() => endingHosts.delete(hostEnd));
    }
  }

  return {
    run: (file, options, body, signal) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(d1Errors.closed());
        const fileQueue = fileQueueOf(file);
        if (fileQueue.busy) return reject(fileQueue.busy());
        if (fileQueue.jobs.length >= limits.waiting || waitingBytes > 4 * limits.requestBytes)
          return reject(d1Errors.tooManyWaiting());
        fileQueue.jobs.push({ options, body, since: clock.now(), signal, resolve, reject });
        waitingBytes += body.length;
        fileQueue.lastUsed = clock.now();
        if (!fileQueue.placed) place(fileQueue);
      }),

    async runExclusively(file, work, busy) {
      const fileQueue = fileQueueOf(file);
      fileQueue.paused++;
      const before = fileQueue.exclusiveWork;
      const done = Promise.withResolvers<void>();
      fileQueue.exclusiveWork = done.promise;
      let timer: NodeJS.Timeout | undefined;
      try {
        await before;
        await Promise.all([...hosts].filter((host) => host.files.has(file)).map((host) => closeIn(host, file)));
        if (busy) timer = setTimeout(() => rejectJobs(fileQueue, busy), busy.afterMs).unref();
        return await work();
      } finally {
        clearTimeout(timer);
        fileQueue.busy = undefined;
        fileQueue.paused--;
        done.resolve();
        if (!fileQueue.placed) place(fileQueue);
      }
    },

    async close() {
      isClosed = true;
      clearInterval(sweeper);
      for (const fileQueue of fileQueues.values())
        for (const job of fileQueue.jobs.splice(0)) job.reject(d1Errors.closed());
      await Promise.all([...endingHosts, ...[...hosts].map((host) => host.process.end())]);
    },
  };
}
