import { Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import {
  createConsole,
  createJsonLines,
  createOutput,
  listenForHotkeys,
  openBrowser,
  renderBanner,
  type Hotkey,
  type Output,
  type Report,
} from "../dev/index.ts";
import { createLifecycle, createLog, messageOf, stopOnSignals, type LogLevel } from "../kernel/index.ts";
import { startDev } from "./dev.ts";
import type { DevOptions, DevServer } from "./dev-options.ts";

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
  const output = createOutput(stdout);
  const report = json
    ? createJsonLines({ output })
    : createConsole({ output, severalWorkers: (options.configs?.length ?? 1) > 1 });
  const log = json
    ? createLog({ level: logLevel, destination: stderr })
    : createLog({ level: logLevel, destination: logToReport(report) });
  const lifecycle = createLifecycle({ log });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<number>();
  const releaseSignals = stopOnSignals(lifecycle, (code) => (code === 0 ? stop(0) : exit(code)));
  lifecycle.onStop("output", () => output.flushed(), { timeoutMs: 1000 });
  try {
    const server = await startDev({ ...options, report, log });
    lifecycle.onStop("server", () => server.close(), { timeoutMs: 30_000 });
    if (lifecycle.stopping.aborted) await server.close();
    const interactive = !json && stdin.isTTY === true && stdout.isTTY === true;
    if (json) output.write(JSON.stringify(readyEvent(server, version)));
    else if (interactive) interact({ server, stdin, output, report, lifecycle, version });
    else output.write(renderBanner({ version, ...factsOf(server), hotkeys: [] }, output.colour));
    return await stopped;
  } catch (err) {
    await lifecycle.stop();
    throw err;
  } finally {
    releaseSignals();
  }
}

/** The event that a parent program waits for, with ports and paths. */
const readyEvent = (server: DevServer, version: string) => ({ event: "ready", version, ...factsOf(server) });

function factsOf({ url, smtp, dataDir, mailDir, workers }: DevServer) {
  return {
    url,
    ...(smtp !== undefined && { smtp }),
    dataDirectory: dataDir,
    mailDirectory: mailDir,
    workers: workers.map((worker) => ({ ...worker, bindings: worker.bindings.map(hideSecret) })),
  };
}

const hideSecret = (binding: DevServer["workers"][number]["bindings"][number]) =>
  binding.type === "secret_text" ? { ...binding, text: "" } : binding;

interface Interaction {
  server: DevServer;
  stdin: ReadStream;
  output: Output;
  report: Report;
  lifecycle: ReturnType<typeof createLifecycle>;
  version: string;
}

function interact({ server, stdin, output, report, lifecycle, version }: Interaction) {
  const interrupt = () => void process.kill(process.pid, "SIGINT");
  const banner = () =>
    output.write(
      renderBanner(
        { version, ...factsOf(server), hotkeys: hotkeys.map(({ keys, label }) => ({ key: keys[0]!, label })) },
        output.colour,
      ),
    );
  const hotkeys: Hotkey[] = [
    {
      keys: ["b"],
      label: "open browser",
      run: () =>
        openBrowser(server.url).catch((err: unknown) =>
          report({
            event: "notice",
            text: `No browser could be opened (${messageOf(err)}). The address is ${server.url}`,
          }),
        ),
    },
    {
      keys: ["c"],
      label: "clear",
      run: () => {
        output.write("\u001b[2J\u001b[3J\u001b[H");
        banner();
      },
    },
    { keys: ["r"], label: "rebuild", run: () => server.rebuild() },
    { keys: ["h", "?"], label: "help", run: banner },
    { keys: ["x", "q"], label: "quit", run: interrupt },
  ];
  banner();
  const release = listenForHotkeys(stdin, hotkeys, {
    interrupt,
    failed: (err) => report({ event: "error", text: messageOf(err) }),
  });
  lifecycle.onStop("hotkeys", release);
}

/** Forwards log lines of the program as events. */
function logToReport(report: Report): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string, _, done) {
      const { level, msg, err } = JSON.parse(line) as {
        level: number;
        msg?: string;
        err?: { message: string; stack?: string };
      };
      const text = [msg, err?.stack ?? err?.message].filter(Boolean).join("\n");
      report({ event: level >= 50 ? "error" : level >= 40 ? "warning" : "notice", text });
      done();
    },
  });
}
