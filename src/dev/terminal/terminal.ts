import { createLog, messageOf, type Log, type LogLevel } from "../../kernel/index.ts";
import type { Binding } from "../../workers/index.ts";
import type { EventReporter } from "../events.ts";
import { renderBanner } from "./banner.ts";
import { openBrowser } from "./browser.ts";
import { createConsole, createJsonLines } from "./console.ts";
import { listenForHotkeys, type Hotkey } from "./hotkeys.ts";
import { createLogStream } from "./log-stream.ts";
import { createTerminalOutput } from "./output.ts";

interface TerminalOptions {
  /** Prints one JSON object per event to stdout, and nothing else; log lines go to stderr. */
  json: boolean;
  /** Version of Reelpost. */
  version: string;
  /** Prefixes events with the worker's name. */
  severalWorkers: boolean;
  logLevel: LogLevel;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** A server that accepts mail and requests. */
interface ReadyServer {
  url: string;
  dashboard?: string | undefined;
  smtp: { host: string; port: number } | undefined;
  dataDir: string;
  mailDir: string;
  workers: { name: string; config: string; bindings: Binding[] }[];
  rebuild(): Promise<void>;
}

interface Terminal {
  /** Prints an event. */
  report: EventReporter;
  /** The log of the program. */
  log: Log;
  /** Prints the banner, or the event that a parent program waits for. With a keyboard, also responds to hotkeys. */
  ready(server: ReadyServer): void;
  /** Ignores further hotkeys. */
  close(): void;
  /** Resolves when all output has been passed to the operating system, or when the reader has disconnected. */
  flushed(): Promise<void>;
}

const CLEAR_SCREEN = "\u001b[2J\u001b[3J\u001b[H";

/** Output and keyboard of `reelpost dev`, on a terminal or in a pipe. */
export function createTerminal({
  json,
  version,
  severalWorkers,
  logLevel,
  stdin,
  stdout,
  stderr,
}: TerminalOptions): Terminal {
  const output = createTerminalOutput(stdout);
  const report = json ? createJsonLines({ output }) : createConsole({ output, severalWorkers });
  const log = createLog({ level: logLevel, destination: json ? stderr : createLogStream(report) });
  const isInteractive = !json && stdin.isTTY === true && stdout.isTTY === true;
  let release = () => {};

  function hotkeysOf(server: ReadyServer, banner: () => void): Hotkey[] {
    return [
      {
        keys: ["b"],
        label: "open browser",
        run: () =>
          openBrowser(server.url).catch((err: unknown) =>
            report({
              event: "notice",
              text: `Could not open a browser (${messageOf(err)}). Open ${server.url}`,
            }),
          ),
      },
      {
        keys: ["c"],
        label: "clear",
        run: () => {
          output.write(CLEAR_SCREEN);
          banner();
        },
      },
      { keys: ["r"], label: "rebuild", run: () => server.rebuild() },
      { keys: ["h", "?"], label: "help", run: banner },
      { keys: ["x", "q"], label: "quit", run: interrupt },
    ];
  }

  return {
    report,
    log,
    ready(server) {
      if (json) return output.write(JSON.stringify({ event: "ready", version, ...describe(server) }));
      const banner = () =>
        output.write(
          renderBanner(
            { version, ...describe(server), hotkeys: hotkeys.map(({ keys, label }) => ({ key: keys[0]!, label })) },
            output.colour,
          ),
        );
      const hotkeys = isInteractive ? hotkeysOf(server, banner) : [];
      banner();
      if (isInteractive)
        release = listenForHotkeys(stdin, hotkeys, {
          interrupt,
          failed: (err) => report({ event: "error", text: messageOf(err) }),
        });
    },
    close: () => release(),
    flushed: output.flushed,
  };
}

/** Stops the program as Ctrl-C does. */
const interrupt = () => void process.kill(process.pid, "SIGINT");

/** URLs, folders and workers, without the values of secrets. */
function describe({ url, dashboard, smtp, dataDir, mailDir, workers }: ReadyServer) {
  return {
    url,
    ...(dashboard !== undefined && { dashboard }),
    ...(smtp !== undefined && { smtp }),
    dataDirectory: dataDir,
    mailDirectory: mailDir,
    workers: workers.map((worker) => ({ ...worker, bindings: worker.bindings.map(hideSecret) })),
  };
}

const hideSecret = (binding: Binding): Binding => (binding.type === "secret_text" ? { ...binding, text: "" } : binding);
