import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createLifecycle, createLog, stopOnSignals, systemClock } from "../../kernel/index.ts";
import { readSettings } from "../../kernel/settings-read.ts";
import { lockDataDirectory, openDataDirectory } from "../data-lock.ts";
import { serverErrors } from "../errors.ts";
import { inheritedSockets } from "../inherited-sockets.ts";
import { parseRoles } from "../roles.ts";
import type { RunServeOptions, PlatformServer } from "../serve-options.ts";
import { bindSharedSockets } from "./shared-sockets.ts";
import { ProcessEnded, startSupervisor, type ReadyMessage, type StopMessage } from "./supervisor.ts";

const MAX_PROCESSES = 256;
const STOP_TIMEOUT_MS = 70_000;

/** Returns the number of processes that `--processes` requests. Throws badProcesses. */
export function processCount(processes: string | undefined): number {
  if (processes === undefined) return 1;
  if (processes === "auto") return Math.min(MAX_PROCESSES, availableParallelism());
  const count = /^\d{1,3}$/.test(processes) ? Number(processes) : 0;
  if (count < 1 || count > MAX_PROCESSES) throw serverErrors.badProcesses({ processes: JSON.stringify(processes) });
  return count;
}

/**
 * Runs `reelpost serve` in several processes until it is stopped. SIGHUP restarts them one at a time. Resolves with the
 * exit code; rejects if the processes cannot start.
 */
export async function superviseServe(
  { cwd, env, settingsFile, overrides, clock = systemClock, roles, exit = process.exit, ...options }: RunServeOptions,
  count: number,
  onReady: (server: PlatformServer) => void,
): Promise<number> {
  const { settings } = await readSettings({
    cwd,
    env,
    ...(settingsFile !== undefined && { file: settingsFile }),
    ...(overrides !== undefined && { overrides }),
  });
  const log = options.log ?? createLog({ level: settings.log.level });
  const folder = join(settings.data_dir, "processes");
  openDataDirectory(folder);
  const lock = lockDataDirectory(folder);
  const lifecycle = createLifecycle({ log });
  lifecycle.onStop("lock", lock.release);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  let killAll = () => {};
  const releaseSignals = stopOnSignals(lifecycle, (code) => {
    if (code === 0) return stop(0);
    killAll();
    exit(code);
  });
  try {
    const sockets = await bindSharedSockets(settings, parseRoles(roles), inheritedSockets(env));
    lifecycle.onStop("sockets", sockets.close);
    const supervisor = startSupervisor<PlatformServer>({
      count,
      command: [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
      env,
      cwd,
      sockets,
      clock,
      log,
    });
    killAll = supervisor.kill;
    lifecycle.onStop("processes", () => supervisor.stop(), { timeoutMs: STOP_TIMEOUT_MS });
    const reload = () => void supervisor.reload();
    process.on("SIGHUP", reload);
    lifecycle.onStop("reload", () => void process.off("SIGHUP", reload));
    const server = await supervisor.first;
    await supervisor.ready;
    if (!lifecycle.stopping.aborted) onReady(server);
    return await stopped;
  } catch (err) {
    const isStopping = lifecycle.stopping.aborted;
    await lifecycle.stop();
    if (err instanceof ProcessEnded) return isStopping ? 0 : err.code;
    throw err;
  } finally {
    releaseSignals();
  }
}

/** The connection of a process to its supervisor. */
interface SupervisorLink {
  ready(server: PlatformServer): void;
  /** Closes the connection, which otherwise keeps the process running. */
  close(): void;
}

/** Calls `stop` when the supervisor requests it or ends. */
export function connectToSupervisor(stop: () => void): SupervisorLink {
  const onMessage = (message: unknown) => {
    if ((message as StopMessage).event === "stop") stop();
  };
  process.on("message", onMessage).once("disconnect", stop);
  return {
    // Serialized as JSON, without its functions.
    ready: (server) => void process.send?.({ event: "ready", server } satisfies ReadyMessage<PlatformServer>),
    close() {
      process.off("message", onMessage).off("disconnect", stop);
      if (process.connected) process.disconnect?.();
    },
  };
}
