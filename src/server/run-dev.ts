import { createTerminal } from "../dev/index.ts";
import { createLifecycle, stopOnSignals, type LogLevel } from "../kernel/index.ts";
import { startDev } from "./dev.ts";
import type { DevOptions } from "./dev-options.ts";

export interface RunDevOptions extends Omit<DevOptions, "report" | "log"> {
  /** Prints one JSON object per event to stdout, and nothing else. */
  json?: boolean;
  /** Version shown in the banner. */
  version: string;
  /** Default "error": a worker's error is an event, not a log line. */
  logLevel?: LogLevel;
  stdin?: NodeJS.ReadStream;
  stdout?: NodeJS.WriteStream;
  stderr?: NodeJS.WriteStream;
  /** Exits immediately on the second Ctrl-C. Default process.exit. */
  exit?: (code: number) => void;
}

/**
 * Runs `reelpost dev` on a terminal or in a pipe. Resolves with the exit code once stopped; rejects if it cannot start.
 */
export async function runDev({
  json = false,
  version,
  logLevel = "error",
  stdin = process.stdin,
  stdout = process.stdout,
  stderr = process.stderr,
  exit = process.exit,
  ...options
}: RunDevOptions): Promise<number> {
  const hasSeveralWorkers = (options.configs?.length ?? 1) > 1;
  const terminal = createTerminal({
    json,
    version,
    severalWorkers: hasSeveralWorkers,
    logLevel,
    stdin,
    stdout,
    stderr,
  });
  const { report, log } = terminal;
  const lifecycle = createLifecycle({ log });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const releaseSignals = stopOnSignals(lifecycle, (code) => (code === 0 ? stop(0) : exit(code)));
  lifecycle.onStop("output", () => terminal.flushed(), { timeoutMs: 1000 });
  try {
    const server = await startDev({ ...options, version, report, log });
    lifecycle.onStop("server", () => server.close(), { timeoutMs: 30_000 });
    lifecycle.onStop("hotkeys", () => terminal.close());
    // A stop request during the start did not reach the server.
    if (lifecycle.stopping.aborted) await server.close();
    else terminal.ready(server);
    return await stopped;
  } catch (err) {
    await lifecycle.stop();
    throw err;
  } finally {
    releaseSignals();
  }
}
