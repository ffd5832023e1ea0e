import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Clock, Log } from "../../kernel/index.ts";
import { createBoundedSender, type NotificationsMessage } from "./event-relay.ts";
import { SLOT_VARIABLE } from "./process-slot.ts";

/** Sent by a process to its supervisor. */
export interface ReadyMessage<Server> {
  event: "ready";
  server: Server;
}

/** Sent by a supervisor to a process, which then stops gracefully. */
export interface StopMessage {
  event: "stop";
}

interface SupervisorOptions {
  count: number;
  /** Program and arguments of a process. */
  command: readonly [program: string, ...args: string[]];
  env: Record<string, string | undefined>;
  cwd: string;
  /** Descriptors of the shared sockets, with their names. */
  sockets: { names: readonly string[]; fds: readonly number[] };
  clock: Clock;
  log: Log;
  limits?: Partial<SupervisorLimits>;
}

interface SupervisorLimits {
  /** Delay before a process that ended is started again; doubles with each early end, up to `maxBackoffMs`. */
  backoffMs: number;
  maxBackoffMs: number;
  /** A process that has run this long starts again after the first delay. */
  stableMs: number;
  /** Time for a graceful stop, after which a process is killed. */
  stopMs: number;
}

const DEFAULTS: SupervisorLimits = { backoffMs: 500, maxBackoffMs: 30_000, stableMs: 60_000, stopMs: 65_000 };

interface Supervisor<Server> {
  /** Resolves with the first process once it is ready. Rejects if it ends first. */
  readonly first: Promise<Server>;
  /** Resolves when every process has been ready once. */
  readonly ready: Promise<void>;
  /** Restarts one process after the other; the others serve meanwhile. Further calls during a reload share it. */
  reload(): Promise<void>;
  /** Stops all processes gracefully. */
  stop(): Promise<void>;
  /** Kills all processes. */
  kill(): void;
}

/**
 * Runs `count` processes that accept connections from the same sockets, and replaces those that end. The first one
 * starts alone: it applies migrations, and creates the key and the first account.
 */
export function startSupervisor<Server>(options: SupervisorOptions): Supervisor<Server> {
  const { count, command, env, cwd, sockets, clock, log } = options;
  const limits = { ...DEFAULTS, ...options.limits };
  const stopping = new AbortController();
  const slots = Array.from({ length: count }, (_, index) => createSlot(index + 1));
  let reloading: Promise<void> | undefined;

  function createSlot(number: number) {
    let child: ChildProcess | undefined;
    let failures = 0;
    /** A restart was requested: it does not count as a failure. */
    let isReplaced = false;
    let wasReady = false;
    const firstReady = Promise.withResolvers<Server>();
    firstReady.promise.catch(() => {});
    let ready = Promise.withResolvers<void>();
    let notify: ReturnType<typeof createBoundedSender> = () => {};

    function spawnChild(): ChildProcess {
      const [program, ...args] = command;
      const started = spawn(program, args, {
        cwd,
        // A group of its own: Ctrl-C reaches the supervisor only, which stops its processes.
        detached: true,
        stdio: ["ignore", "inherit", "inherit", ...sockets.fds, "ipc"],
        env: {
          ...env,
          [SLOT_VARIABLE]: `${number}/${count}${wasReady ? "/again" : ""}`,
          LISTEN_FDS: String(sockets.fds.length),
          LISTEN_FDNAMES: sockets.names.join(":"),
          LISTEN_PID: undefined,
        },
      });
      started.on("message", (message: ReadyMessage<Server> | NotificationsMessage) => {
        if (message.event === "notifications") {
          for (const other of slots) if (other !== slot) other.notify(message.notifications);
          return;
        }
        wasReady = true;
        firstReady.resolve(message.server);
        ready.resolve();
      });
      notify = createBoundedSender((message, onSent) => {
        // A process that has ended reads everything when it starts again.
        if (started.connected) started.send(message, onSent);
        else onSent();
      });
      return started;
    }

    async function run() {
      while (!stopping.signal.aborted) {
        const startedAt = clock.now();
        child = spawnChild();
        const { pid } = child;
        const [code, signal] = (await once(child, "exit").catch((err: unknown) => [err, null])) as [unknown, unknown];
        child = undefined;
        if (stopping.signal.aborted) return;
        firstReady.reject(new ProcessEnded(typeof code === "number" ? code : 1));
        if (isReplaced) {
          isReplaced = false;
          continue;
        }
        failures = clock.now() - startedAt >= limits.stableMs ? 1 : failures + 1;
        const waitMs = Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** Math.min(failures - 1, 20));
        log.error({ process: number, pid, code, signal, waitMs }, "serve: process ended, will start it again");
        await clock.sleep(waitMs, stopping.signal).catch(() => {});
      }
    }

    const slot = {
      first: firstReady.promise,
      run,
      notify: (notifications: NotificationsMessage["notifications"]) => notify(notifications),
      kill: () => void child?.kill("SIGKILL"),
      /** Resolves when the process has ended. */
      async stop() {
        const ending = child;
        if (ending === undefined) return;
        const ended = once(ending, "exit");
        if (ending.connected) ending.send({ event: "stop" } satisfies StopMessage);
        else ending.kill("SIGTERM");
        const timer = setTimeout(() => ending.kill("SIGKILL"), limits.stopMs);
        await ended;
        clearTimeout(timer);
      },
      /** Resolves when the successor of the process is ready. */
      async replace() {
        ready = Promise.withResolvers<void>();
        if (child === undefined) return ready.promise;
        isReplaced = true;
        await slot.stop();
        await ready.promise;
      },
    };
    return slot;
  }

  const [firstSlot, ...otherSlots] = slots;
  const running = [firstSlot!.run()];
  const ready = firstSlot!.first.then(async () => {
    if (stopping.signal.aborted) return;
    for (const slot of otherSlots) running.push(slot.run());
    await Promise.all(otherSlots.map(({ first }) => first.catch(() => {})));
  });
  ready.catch(() => {});

  async function reloadAll() {
    for (const slot of slots) {
      if (stopping.signal.aborted) return;
      await Promise.race([
        slot.replace(),
        new Promise((resolve) => stopping.signal.addEventListener("abort", resolve)),
      ]);
    }
    log.info({ processes: count }, "serve: all processes restarted");
  }

  return {
    first: firstSlot!.first,
    ready,
    reload: () => (reloading ??= reloadAll().finally(() => (reloading = undefined))),
    async stop() {
      stopping.abort();
      await Promise.all(slots.map((slot) => slot.stop()));
      await Promise.all(running);
    },
    kill: () => slots.forEach((slot) => slot.kill()),
  };
}

/** The first process ended before it was ready; it has printed the reason. */
export class ProcessEnded extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the process ended with exit code ${code} before it was ready`);
    this.code = code;
  }
}
