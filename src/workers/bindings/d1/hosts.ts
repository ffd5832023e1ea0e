import type { Clock, Log } from "../../../kernel/index.ts";
import { d1Errors } from "./errors.ts";
import { startHostProcess, type HostProcess } from "./host-process.ts";
import type { D1Limits } from "./limits.ts";

/** Assigns every database file to one of a few processes, and sends every process one request at a time. */
interface Hosts {
  /**
   * Requests of one file run in order of arrival. Rejects with an error of `d1Errors`; after such an error nothing of
   * the request is in the file, except possibly after `reset`.
   */
  run(file: string, options: Record<string, unknown>, body: Uint8Array, signal?: AbortSignal): Promise<Buffer>;
  /**
   * Runs `work` while no process has the file open; such calls for the same file run one after the other. Requests wait
   * meanwhile; with `busy`, requests that have waited that long are rejected, as are all later ones while it runs.
   */
  without<Result>(file: string, work: () => Promise<Result>, busy?: Busy): Promise<Result>;
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
interface Lane {
  file: string;
  jobs: Job[];
  host: Host | undefined;
  /** Queued at a host, or running. */
  placed: boolean;
  /** While above 0, nothing runs; see without(). */
  paused: number;
  /** Settles when the last work that needs exclusive access to the file has finished. */
  alone: Promise<unknown>;
  /** The error for requests that are rejected while such exclusive work is running. */
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
  process: HostProcess;
  line: Lane[];
  serving: boolean;
  /** Number of completed requests: if unchanged for a while with a non-empty queue, the process is stuck. */
  completed: number;
  rescue: NodeJS.Timeout | undefined;
  files: Set<string>;
  /** Files to close before the next request, each with the callback that waits for it. */
  closing: Map<string, () => void>;
  dead: boolean;
  idleSince: number;
}

/** How long requests of other files wait for a busy process before they move to another one. */
const PATIENCE_MS = 200;

export function createHosts({ directory, limits, clock, log, processes, idleMs }: HostsOptions): Hosts {
  const hosts = new Set<Host>();
  const lanes = new Map<string, Lane>();
  const ending = new Set<Promise<void>>();
  let waitingBytes = 0;
  let closed = false;
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
      rescue: undefined,
      files: new Set(),
      closing: new Map(),
      dead: false,
      idleSince: clock.now(),
    };
    hosts.add(host);
    void host.process.ended.then(() => bury(host));
    return host;
  }

  function bury(host: Host) {
    host.dead = true;
    hosts.delete(host);
    clearTimeout(host.rescue);
    for (const done of host.closing.values()) done();
    for (const lane of lanes.values()) if (lane.host === host) lane.host = undefined;
    for (const lane of host.line.splice(0)) place(lane);
  }

  /**
   * Puts the lane into the queue of a process: its current one if that is free or `avoid` is not set, else a free one,
   * a new one, or the one with the shortest queue.
   */
  function place(lane: Lane, avoid?: Host) {
    lane.placed = lane.paused === 0 && lane.jobs.length > 0;
    if (!lane.placed) return;
    let host: Host;
    try {
      host = choose(lane, avoid);
    } catch (cause) {
      // No process can be started now; the next request retries.
      log.error({ err: cause, file: lane.file }, "d1: failed to start a database process");
      lane.placed = false;
      for (const job of lane.jobs.splice(0)) {
        waitingBytes -= job.body.length;
        job.reject(d1Errors.reset({}, { cause }));
      }
      return;
    }
    if (lane.host && lane.host !== host && lane.host.files.has(lane.file)) lane.host.closing.set(lane.file, () => {});
    lane.host = host;
    host.line.push(lane);
    if (host.serving) watch(host);
    else void serve(host);
  }

  function choose(lane: Lane, avoid: Host | undefined): Host {
    if (lane.host && lane.host !== avoid && !lane.host.dead) return lane.host;
    const live = [...hosts].filter((host) => !host.dead);
    const others = live.filter((host) => host !== avoid);
    const free = others.find((host) => !host.serving);
    if (free) return free;
    if (live.length < processes) return start();
    return others.sort((a, b) => a.line.length - b.line.length)[0] ?? avoid!;
  }

  /** A slow query must delay only its own database: the other lanes in its queue move to another process. */
  function watch(host: Host) {
    if (host.rescue || processes === 1) return;
    const completed = host.completed;
    host.rescue = setTimeout(() => {
      host.rescue = undefined;
      if (host.line.length === 0 || host.dead) return;
      if (host.completed !== completed) return watch(host);
      for (const lane of host.line.splice(0)) place(lane, host);
    }, PATIENCE_MS);
    host.rescue.unref();
  }

  async function serve(host: Host) {
    host.serving = true;
    while (!host.dead && (host.closing.size > 0 || host.line.length > 0)) {
      if (host.closing.size > 0) await closeFiles(host);
      const lane = host.line.shift();
      if (!lane) continue;
      const job = lane.paused > 0 ? undefined : lane.jobs.shift();
      if (!job) {
        lane.placed = false;
        continue;
      }
      await runJob(host, lane, job);
      lane.lastUsed = clock.now();
      host.completed++;
      place(lane);
    }
    host.serving = false;
    host.idleSince = clock.now();
  }

  async function closeFiles(host: Host) {
    for (const [file, done] of host.closing) {
      host.closing.delete(file);
      host.files.delete(file);
      await host.process.ask({ op: "close", file }).catch(() => {});
      done();
    }
  }

  async function runJob(host: Host, lane: Lane, job: Job) {
    waitingBytes -= job.body.length;
    if (job.signal?.aborted) return job.reject(job.signal.reason);
    if (clock.now() - job.since > limits.waitMs) return job.reject(d1Errors.waitedTooLong());
    host.files.add(lane.file);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      log.warn({ file: lane.file, requestMs: limits.requestMs }, "d1: request timed out, process killed");
      host.process.kill();
    }, limits.requestMs);
    try {
      const { header, body } = await host.process.ask({ op: "run", file: lane.file, options: job.options }, job.body);
      if (header.fault === undefined) return job.resolve(body);
      log.error({ file: lane.file, reason: header.fault }, "d1: failed to open a database");
      job.reject(d1Errors.reset({}, { cause: header.fault }));
    } catch (cause) {
      host.dead = true;
      job.reject(
        late ? d1Errors.ranTooLong(limits as unknown as Record<string, unknown>) : d1Errors.reset({}, { cause }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  function laneOf(file: string): Lane {
    let lane = lanes.get(file);
    if (!lane)
      lanes.set(
        file,
        (lane = {
          file,
          jobs: [],
          host: undefined,
          placed: false,
          paused: 0,
          alone: Promise.resolve(),
          busy: undefined,
          lastUsed: clock.now(),
        }),
      );
    return lane;
  }

  function refuse(lane: Lane, { error }: Busy) {
    lane.busy = error;
    for (const job of lane.jobs.splice(0)) {
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
    for (const lane of lanes.values()) {
      if (lane.placed || lane.paused > 0 || lane.lastUsed > before) continue;
      lanes.delete(lane.file);
      if (lane.host?.files.has(lane.file)) void closeIn(lane.host, lane.file);
    }
    for (const host of hosts) {
      if (host.serving || host.files.size > 0 || host.idleSince > before) continue;
      host.dead = true;
      hosts.delete(host);
      const gone = host.process.end();
      ending.add(gone);
      void gone.then(() => ending.delete(gone));
    }
  }

  return {
    run: (file, options, body, signal) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(d1Errors.closed());
        const lane = laneOf(file);
        if (lane.busy) return reject(lane.busy());
        if (lane.jobs.length >= limits.waiting || waitingBytes > 4 * limits.requestBytes)
          return reject(d1Errors.tooManyWaiting());
        lane.jobs.push({ options, body, since: clock.now(), signal, resolve, reject });
        waitingBytes += body.length;
        lane.lastUsed = clock.now();
        if (!lane.placed) place(lane);
      }),

    async without(file, work, busy) {
      const lane = laneOf(file);
      lane.paused++;
      const before = lane.alone;
      const done = Promise.withResolvers<void>();
      lane.alone = done.promise;
      let timer: NodeJS.Timeout | undefined;
      try {
        await before;
        await Promise.all([...hosts].filter((host) => host.files.has(file)).map((host) => closeIn(host, file)));
        if (busy) timer = setTimeout(() => refuse(lane, busy), busy.afterMs).unref();
        return await work();
      } finally {
        clearTimeout(timer);
        lane.busy = undefined;
        lane.paused--;
        done.resolve();
        if (!lane.placed) place(lane);
      }
    },

    async close() {
      closed = true;
      clearInterval(sweeper);
      for (const lane of lanes.values()) for (const job of lane.jobs.splice(0)) job.reject(d1Errors.closed());
      await Promise.all([...ending, ...[...hosts].map((host) => host.process.end())]);
    },
  };
}
