import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { blocksOf, fillIn, matches, type Block } from "./blocks.ts";
import { readyLine } from "./page-environment.ts";

/** Below the time limit of a test, so that the error names the commands. */
const commandTimeoutMs = 100_000;
/** Background encoding only gets idle CPU time, which is scarce while other tests run. */
const outputTimeoutMs = 90_000;
const outputLimit = 1024 * 1024;

interface Options {
  /** Initial working directory of the page's commands. */
  dir: string;
  env: NodeJS.ProcessEnv;
  /** Replaces the page's ports with the ports of this run. */
  localize: (text: string) => string;
}

/** Follows a page in order, as a reader would: writes its files, runs its commands, compares their output. */
export async function runPage(page: string, { dir, env, localize }: Options): Promise<void> {
  const session = createSession(dir, env);
  try {
    for (const block of blocksOf(page)) {
      await within(block.line, () => perform({ ...block, text: localize(block.text) }, session));
    }
  } finally {
    await session.close();
  }
}

async function within(line: number, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (err) {
    throw new Error(`the block at line ${line}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
  }
}

async function perform(block: Block & { fails?: boolean }, session: Session): Promise<void> {
  switch (block.kind) {
    case "file": {
      const path = join(await session.cwd(), block.path);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, await session.fillIn(block.text));
      return;
    }
    case "run": {
      const { code, output } = await session.run(await session.fillIn(block.text));
      assert.equal(code !== 0, block.fails ?? false, `exit code ${code} of:\n${block.text}\n${output}`);
      return;
    }
    case "server":
      return session.serve(block.text);
    case "output":
      return block.of === "commands"
        ? expectOutput(session.lastOutput(), block.text)
        : session.expectFromServer(block.text);
  }
}

function expectOutput(output: string, expected: string): void {
  assert.ok(matches(output, expected), `expected\n\n${expected}\nbut got\n\n${output}`);
}

interface Session {
  cwd(): Promise<string>;
  /** Fills in values that a reader copies from earlier output, shown as … on the page. */
  fillIn(text: string): Promise<string>;
  run(commands: string): Promise<{ code: number | null; output: string }>;
  lastOutput(): string;
  serve(command: string): Promise<void>;
  expectFromServer(expected: string): Promise<void>;
  close(): Promise<void>;
}

/** Creates one terminal for the commands, whose `cd` and `export` persist across blocks, and one for each server. */
function createSession(dir: string, env: NodeJS.ProcessEnv): Session {
  const place = join(dir, ".cwd");
  const exported = join(dir, ".exported");
  let printed = "";
  let servers: Server[] = [];
  let lastOutput = "";
  const cwd = async () => (await readFile(place, "utf8").catch(() => dir)).trim();

  /** Responses to the `login` prompts, from the first output of the server. */
  async function answers() {
    const server = servers.find(({ command }) => isReelpost(command));
    const [, url, token] = (await server?.find(/_API_BASE_URL=(\S+)\s+export \w+_API_TOKEN=(\S+)\s+export .*\n/)) ?? [];
    return { SERVER_URL: url, SERVER_TOKEN: token };
  }

  return {
    cwd,
    lastOutput: () => lastOutput,
    async fillIn(text) {
      if (/^export \w+=…$/m.test(text)) await answers();
      return fillIn(text, printed + servers.map((server) => server.printed()).join(""));
    },
    async run(commands) {
      const script = `[ ! -e "$DOCS_EXPORTED" ] || . "$DOCS_EXPORTED"\ntrap 'pwd > "$DOCS_PLACE"; export -p > "$DOCS_EXPORTED"' EXIT\n${commands}`;
      const login = /\breelpost login\b/.test(commands) ? await answers() : {};
      const shell = spawn("bash", ["-euo", "pipefail", "-c", script], {
        cwd: await cwd(),
        env: { ...env, ...login, DOCS_PLACE: place, DOCS_EXPORTED: exported },
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
      });
      const output = collect(shell);
      let timedOut = "";
      const timer = setTimeout(() => {
        timedOut = `killed after ${commandTimeoutMs / 1000} s; its processes were:\n${processesOf(shell)}\n`;
        kill(shell, "SIGKILL");
      }, commandTimeoutMs);
      const code = await exitOf(shell);
      clearTimeout(timer);
      lastOutput = `${output.all()}${timedOut}`;
      printed += lastOutput;
      return { code, output: lastOutput };
    },
    async serve(command) {
      // Some pages say "Stop the server and start it with …": only one reelpost runs at a time.
      for (const old of servers.filter((server) => isReelpost(server.command) && isReelpost(command))) await old.stop();
      servers = servers.filter((server) => !server.stopped());
      servers.push(await startServer(command, await cwd(), env));
    },
    expectFromServer: async (expected) => {
      const server = servers.at(-1);
      assert.ok(server, "no server was started before this block");
      await server.expect(expected);
    },
    async close() {
      for (const server of servers) await server.stop();
    },
  };
}

const isReelpost = (command: string) => /\breelpost (dev|serve)\b/.test(command);

interface Server {
  command: string;
  stopped(): boolean;
  expect(text: string): Promise<void>;
  /** Searches everything printed so far, and waits briefly for further output. */
  find(pattern: RegExp): Promise<RegExpExecArray>;
  printed(): string;
  stop(): Promise<void>;
}

async function startServer(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Server> {
  const shell = spawn("bash", ["-c", `exec ${command}`], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = collect(shell);
  let seen = 0;
  try {
    await output.until((text) => readyLine.test(text), "it was ready");
  } catch (err) {
    await stopServer(shell);
    throw err;
  }
  return {
    command,
    stopped: () => shell.exitCode !== null || shell.signalCode !== null,
    async expect(expected) {
      await output.until((text) => matches(text.slice(seen), expected), `it printed\n\n${expected}`);
      seen = output.all().length;
    },
    async find(pattern) {
      await output.until((text) => pattern.test(text), `it printed ${pattern.source}`);
      return pattern.exec(output.all())!;
    },
    printed: output.all,
    stop: () => stopServer(shell),
  };
}

async function stopServer(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  const exited = exitOf(shell);
  const timer = setTimeout(() => kill(shell, "SIGKILL"), 15_000);
  kill(shell, "SIGTERM");
  await exited;
  clearTimeout(timer);
}

/** Kills the whole process group: the shell may have exited before its children. */
function kill(shell: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-shell.pid!, signal);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ESRCH") throw err;
  }
}

/** Returns the processes of the shell's group, one per line: id, state, kernel function it waits in, command line. */
function processesOf(shell: ChildProcess): string {
  const lines = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        const [state, , group] = readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ");
        if (Number(group) !== shell.pid) return "";
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return `${pid} ${state} ${readFileSync(`/proc/${pid}/wchan`, "utf8")} ${command}`;
      } catch {
        // The process has exited.
        return "";
      }
    });
  return lines.filter((line) => line !== "").join("\n");
}

const exitOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));

function collect(child: ChildProcess) {
  let text = "";
  let changed = () => {};
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      if (text.length < outputLimit) text += chunk;
      changed();
    });
  }
  child.once("close", () => changed());
  return {
    all: () => text,
    until: (good: (text: string) => boolean, what: string) =>
      new Promise<void>((resolve, reject) => {
        const settle = (done: () => void) => {
          clearTimeout(timer);
          changed = () => {};
          done();
        };
        const fail = (why: string) => settle(() => reject(new Error(`${why} before ${what}\nIt printed:\n\n${text}`)));
        const timer = setTimeout(() => fail("the server timed out"), outputTimeoutMs);
        changed = () => {
          if (good(text)) settle(resolve);
          else if (child.exitCode !== null) fail(`the server exited with code ${child.exitCode}`);
        };
        changed();
      }),
  };
}
