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
  /** Program and arguments of each process. */
  command: readonly [program: string, ...args: string[]];
  env: Record<string, string | undefined>;
  cwd: string;
  /** File descriptors of the shared sockets, and their names. */
  sockets: { names: readonly string[]; fds: readonly number[] };
  clock: Clock;
  log: Log;
  limits?: Partial<SupervisorLimits>;
}

interface SupervisorLimits {
  /** Delay before a process that ended is restarted. Doubles each time that it ends early, up to `maxBackoffMs`. */
  backoffMs: number;
  maxBackoffMs: number;
  /** A process that has run for this long is restarted after the initial delay. */
  stableMs: number;
  /** Time limit for a graceful stop, after which the process is killed. */
  stopMs: number;
  /** When all processes stop, the first one stops after the others, at the latest after this time. */
  stopFirstAfterMs: number;
}

const DEFAULTS: SupervisorLimits = {
  backoffMs: 500,
  maxBackoffMs: 30_000,
  stableMs: 60_000,
  stopMs: 65_000,
  stopFirstAfterMs: 30_000,
};

interface Supervisor<Server> {
  /** Resolves when the primary process is ready. Rejects if it ends before that. */
  readonly first: Promise<Server>;
  /** Resolves when every process has been ready once. */
  readonly ready: Promise<void>;
  /**
   * Restarts the processes one at a time, while the others continue to serve. A call during a reload waits for that
   * reload.
   */
  reload(): Promise<void>;
  /** Stops all processes gracefully, the first one last. */
  stop(): Promise<void>;
  /** Kills all processes. */
  kill(): void;
}

/**
 * Runs `count` processes that accept connections on the same sockets, and replaces those that end. The first one starts
 * alone, because it applies migrations and creates the secrets key and the first account.
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
    /** True if a restart was requested, which does not count as a failure. */
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
        // In its own process group, so that Ctrl-C reaches only the supervisor, which stops the processes.
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
        log.error({ process: number, pid, code, signal, waitMs }, "serve: process exited, will restart");
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
      /** Resolves when the replacement of the process is ready. */
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
      const others = Promise.all(otherSlots.map((slot) => slot.stop()));
      // Until they have completed their requests, the others need the primary process for D1 and Durable Objects.
      await Promise.race([others, clock.sleep(limits.stopFirstAfterMs)]);
      await Promise.all([others, firstSlot!.stop()]);
      await Promise.all(running);
    },
    kill: () => slots.forEach((slot) => slot.kill()),
  };
}

/** Thrown if the primary process ends before it is ready. The process has already printed the reason. */
export class ProcessEnded extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the process ended with exit code ${code} before it was ready`);
    this.code = code;
  }
}
