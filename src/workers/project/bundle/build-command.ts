import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "../config/find.ts";
import { projectErrors } from "../errors.ts";

/** `build` of the configuration: a command that creates the main module, for example another bundler. */
export interface BuildCommand {
  /** Runs in a shell. */
  command: string;
  /** Absolute path. */
  cwd: string;
  /** A change in one of these folders runs the command again. Absolute paths. */
  watchFolders: string[];
}

const TIMEOUT_MS = 10 * 60_000;
const OUTPUT_LIMIT = 16 * 1024;
const MAX_WATCHED_FILES = 2000;

/** Runs the command. Throws buildCommandFailed with the end of its output if it fails or does not create `main`. */
export async function runBuildCommand(
  { command, cwd }: BuildCommand,
  { main, mode, signal }: { main: string; mode: "development" | "production"; signal: AbortSignal },
): Promise<void> {
  const child = spawn(command, {
    cwd,
    shell: true,
    // The shell starts further processes. Its own process group allows all of them to be stopped.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    // Scripts written for wrangler read this variable.
    env: { ...process.env, WRANGLER_COMMAND: mode === "development" ? "dev" : "deploy" },
  });
  const stopSignal = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const killGroup = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // The process has ended, or could not be started.
    }
  };
  stopSignal.addEventListener("abort", killGroup, { once: true });
  if (stopSignal.aborted) killGroup();
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-OUTPUT_LIMIT)));
  const outcome = await new Promise<string | undefined>((resolve) => {
    child.once("error", (err) => resolve(`did not start: ${err.message}`));
    child.once("close", (code, killedBy) => {
      if (signal.aborted) return resolve("was stopped");
      if (stopSignal.aborted) return resolve(`did not finish within ${TIMEOUT_MS / 60_000} minutes`);
      resolve(code === 0 ? undefined : code === null ? `was killed by ${killedBy}` : `exited with status ${code}`);
    });
  });
  stopSignal.removeEventListener("abort", killGroup);
  const failure = outcome ?? (main === "" || (await exists(main)) ? undefined : `did not create ${main}`);
  if (failure !== undefined)
    throw projectErrors.buildCommandFailed({ command, cwd, outcome: failure, output: output.trim() || "(no output)" });
}

/**
 * Resolves with the files whose change causes the command to run again, at most 2,000. Excludes packages and hidden
 * folders.
 */
export async function watchedFiles({ watchFolders }: Pick<BuildCommand, "watchFolders">): Promise<string[]> {
  const foundFiles: string[] = [];
  const pendingFolders = [...watchFolders];
  for (
    let folder = pendingFolders.shift();
    folder !== undefined && foundFiles.length < MAX_WATCHED_FILES;
    folder = pendingFolders.shift()
  ) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) pendingFolders.push(path);
      else if (entry.isFile() && foundFiles.length < MAX_WATCHED_FILES) foundFiles.push(path);
    }
  }
  return foundFiles;
}
