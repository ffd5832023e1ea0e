import type { Clock, Log } from "../../../kernel/index.ts";
import { d1Errors } from "./errors.ts";
import { startDatabaseProcess, type DatabaseProcess } from "./process-client.ts";
import type { D1Limits } from "./limits.ts";

/** Assigns every database file to one of a few processes, and sends every process one request at a time. */
interface ProcessPool {
  /**
   * Requests of one file run in order of arrival. Rejects with an error of `d1Errors`, or the reason of `signal`; after
   * such an error, no change of the request has been applied, except possibly after `reset`.
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

interface ProcessPoolOptions {
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
  member: PoolMember | undefined;
  /** Queued at a process, or running. */
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

interface PoolMember {
  process: DatabaseProcess;
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

export function createProcessPool({
  directory,
  limits,
  clock,
  log,
  processes,
  idleMs,
}: ProcessPoolOptions): ProcessPool {
  const members = new Set<PoolMember>();
  const fileQueues = new Map<string, FileQueue>();
  const endingMembers = new Set<Promise<void>>();
  let waitingBytes = 0;
  let isClosed = false;
  const sweeper = setInterval(sweep, Math.max(idleMs / 2, 10));
  sweeper.unref();

  function start(): PoolMember {
    const member: PoolMember = {
      process: startDatabaseProcess({
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
    members.add(member);
    void member.process.ended.then(() => removeMember(member));
    return member;
  }

  function removeMember(member: PoolMember) {
    member.dead = true;
    members.delete(member);
    clearTimeout(member.reassignTimer);
    for (const done of member.closing.values()) done();
    for (const fileQueue of fileQueues.values()) if (fileQueue.member === member) fileQueue.member = undefined;
    for (const fileQueue of member.line.splice(0)) place(fileQueue);
  }

  /**
   * Adds the file to the queue of a process: its current one, unless that is `avoided` or has ended; otherwise a free
   * one, a new one, or the one with the shortest queue.
   */
  function place(fileQueue: FileQueue, avoided?: PoolMember) {
    fileQueue.placed = fileQueue.paused === 0 && fileQueue.jobs.length > 0;
    if (!fileQueue.placed) return;
    let member: PoolMember;
    try {
      member = choose(fileQueue, avoided);
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
    if (fileQueue.member && fileQueue.member !== member && fileQueue.member.files.has(fileQueue.file))
      fileQueue.member.closing.set(fileQueue.file, () => {});
    fileQueue.member = member;
    member.line.push(fileQueue);
    if (member.serving) watch(member);
    else void serve(member);
  }

  function choose(fileQueue: FileQueue, avoided: PoolMember | undefined): PoolMember {
    if (fileQueue.member && fileQueue.member !== avoided && !fileQueue.member.dead) return fileQueue.member;
    const liveMembers = [...members].filter((member) => !member.dead);
    const otherMembers = liveMembers.filter((member) => member !== avoided);
    const idleMember = otherMembers.find((member) => !member.serving);
    if (idleMember) return idleMember;
    if (liveMembers.length < processes) return start();
    return otherMembers.sort((a, b) => a.line.length - b.line.length)[0] ?? avoided!;
  }

  /**
   * A slow query must delay only its own database: the other files in the queue of its process move to another process.
   */
  function watch(member: PoolMember) {
    if (member.reassignTimer || processes === 1) return;
    const completedBefore = member.completed;
    member.reassignTimer = setTimeout(() => {
      member.reassignTimer = undefined;
      if (member.line.length === 0 || member.dead) return;
      if (member.completed !== completedBefore) return watch(member);
      for (const fileQueue of member.line.splice(0)) place(fileQueue, member);
    }, REASSIGN_AFTER_MS);
    member.reassignTimer.unref();
  }

  async function serve(member: PoolMember) {
    member.serving = true;
    while (!member.dead && (member.closing.size > 0 || member.line.length > 0)) {
      if (member.closing.size > 0) await closeFiles(member);
      const fileQueue = member.line.shift();
      if (!fileQueue) continue;
      const job = fileQueue.paused > 0 ? undefined : fileQueue.jobs.shift();
      if (!job) {
        fileQueue.placed = false;
        continue;
      }
      await runJob(member, fileQueue, job);
      fileQueue.lastUsed = clock.now();
      member.completed++;
      place(fileQueue);
    }
    member.serving = false;
    member.idleSince = clock.now();
  }

  async function closeFiles(member: PoolMember) {
    for (const [file, done] of member.closing) {
      member.closing.delete(file);
      member.files.delete(file);
      await member.process.request({ op: "close", file }).catch(() => {});
      done();
    }
  }

  async function runJob(member: PoolMember, fileQueue: FileQueue, job: Job) {
    waitingBytes -= job.body.length;
    if (job.signal?.aborted) return job.reject(job.signal.reason);
    if (clock.now() - job.since > limits.waitMs) return job.reject(d1Errors.waitedTooLong());
    member.files.add(fileQueue.file);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      log.warn({ file: fileQueue.file, requestMs: limits.requestMs }, "d1: request timed out, process killed");
      member.process.kill();
    }, limits.requestMs);
    try {
      const { header, body } = await member.process.request(
        { op: "run", file: fileQueue.file, options: job.options },
        job.body,
      );
      if (header.fault === undefined) return job.resolve(body);
      log.error({ file: fileQueue.file, reason: header.fault }, "d1: failed to open a database");
      job.reject(d1Errors.reset({}, { cause: header.fault }));
    } catch (cause) {
      member.dead = true;
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
          member: undefined,
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

  function closeIn(member: PoolMember, file: string): Promise<void> {
    return new Promise((resolve) => {
      member.closing.set(file, resolve);
      if (!member.serving) void serve(member);
    });
  }

  function sweep() {
    const before = clock.now() - idleMs;
    for (const fileQueue of fileQueues.values()) {
      if (fileQueue.placed || fileQueue.paused > 0 || fileQueue.lastUsed > before) continue;
      fileQueues.delete(fileQueue.file);
      if (fileQueue.member?.files.has(fileQueue.file)) void closeIn(fileQueue.member, fileQueue.file);
    }
    for (const member of members) {
      if (member.serving || member.files.size > 0 || member.idleSince > before) continue;
      member.dead = true;
      members.delete(member);
      const end = member.process.end();
      endingMembers.add(end);
      void end.then(() => endingMembers.delete(end));
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
        await Promise.all(
          [...members].filter((member) => member.files.has(file)).map((member) => closeIn(member, file)),
        );
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
      await Promise.all([...endingMembers, ...[...members].map((member) => member.process.end())]);
    },
  };
}
