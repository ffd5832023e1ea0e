import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createApi, TOKEN, type Api, type Scope } from "../../e2e/serve-client.ts";
import { spawnServe, temporaryFolder, type ServeProcess, type SpawnServeOptions } from "../../support/serve.ts";

/** `reelpost serve` as a separate process, with an account for uploads, and viewers. */
export interface VideoServer extends ServeProcess {
  api: Api;
  dataDirectory: string;
  /** Equivalent to `kill -9`; resolves when the server and its encoders have exited. */
  crash(): Promise<void>;
}

/** A video as returned by the API. */
export interface ShownVideo {
  uid: string;
  readyToStream: boolean;
  status: { state: string; pctComplete?: string; errorReasonCode: string; errorReasonText: string };
  duration: number;
  size: number;
}

export async function startVideoServer(t: Scope, options: SpawnServeOptions = {}): Promise<VideoServer> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder(t, "stream"));
  const server = await spawnServe(t, { ...options, dataDirectory, env: { REELPOST_API_TOKEN: TOKEN, ...options.env } });
  return {
    ...server,
    dataDirectory,
    api: createApi(server.ready, TOKEN),
    async crash() {
      server.child.kill("SIGKILL");
      await server.exited;
      await until(() => processesOf(dataDirectory).length === 0, "its encoders exit with it");
    },
  };
}

/** Limit of a wait on a busy machine: encoding several videos takes minutes there. */
const PATIENCE_MS = 180_000;

/** Polls for changes in another process, at a low rate, since every poll loads the server as well as the test. */
export async function until(done: () => boolean | Promise<boolean>, what: string, ms = PATIENCE_MS): Promise<void> {
  for (const deadline = Date.now() + ms; !(await done()); await sleep(100))
    assert.ok(Date.now() < deadline, `timed out after ${ms / 1000} s: ${what}`);
}

/** Programs, by name, whose command line contains the directory, except for the server itself. Reads /proc. */
export function processesOf(folder: string, name?: string): number[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .map(Number)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        if (!command.includes(folder) || command.includes("--data-dir")) return false;
        return name === undefined || readFileSync(`/proc/${pid}/comm`, "latin1").trim() === name;
      } catch {
        // The process has just exited.
        return false;
      }
    });
}

export const videoOf = ({ api }: Pick<VideoServer, "api">, uid: string): Promise<ShownVideo> =>
  api.ok("get", `stream/${uid}`) as Promise<ShownVideo>;

export const allVideos = ({ api }: Pick<VideoServer, "api">): Promise<ShownVideo[]> =>
  api.ok("get", "stream") as Promise<ShownVideo[]>;

/** Resolves when the video has reached a final state. */
export async function waitForFinalState(
  server: Pick<VideoServer, "api">,
  uid: string,
  ms = PATIENCE_MS,
): Promise<ShownVideo> {
  let video: ShownVideo;
  let state = "";
  await until(
    async () => ["ready", "error"].includes((state = (video = await videoOf(server, uid)).status.state)),
    `video ${uid} is ready or has failed`,
    ms,
  ).catch((err: Error) => {
    throw new Error(`${err.message}; the video is ${state} at ${video?.status.pctComplete} %`, { cause: err });
  });
  return video!;
}

/**
 * Returns the sorted names of all objects under a folder of the store. Skips folders that the server removes during the
 * walk.
 */
export function objectsByPrefix(objects: string, prefix: string): string[] {
  const folder = join(objects, prefix);
  const files = (at: string): string[] =>
    entriesOf(at).flatMap((entry) => {
      const path = join(at, entry.name);
      return entry.isDirectory() ? files(path) : entry.isFile() ? [path.slice(folder.length + 1)] : [];
    });
  return files(folder).sort();
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw err;
  }
}

/** Resolves with the value of one metric, summed over all lines with these labels. */
export async function metric(
  { ready }: Pick<VideoServer, "ready">,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const text = await (await fetch(`${ready.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
