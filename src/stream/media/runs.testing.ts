import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { needsPrograms } from "../../../test/support/media.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";

/** Every sandbox, with the test options that skip it where its program is missing. */
export const SANDBOXES = [
  { sandbox: "bwrap", needs: needsPrograms("bwrap") },
  { sandbox: "landlock", needs: needsPrograms("perl") },
  { sandbox: "prlimit", needs: needsPrograms("prlimit") },
] as const;

/** For `assert.rejects`: the run ended for this reason, and its message or standard error matches. */
export const isRunError = (reason: MediaRunReason, words?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof MediaRunError, String(err));
  assert.equal(err.reason, reason, `${err.message}\n${err.stderr}`);
  if (words !== undefined) assert.match(`${err.message}\n${err.stderr}`, words);
  return true;
};

/** Creates a folder that is deleted when the test ends. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reelpost-media-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/**
 * Returns arguments of a run that reads no input and runs until it is killed; `word` identifies it among all processes.
 */
export const endlessArgs = (word: string, output = ["-f", "null", "-"]) => [
  "-f",
  "lavfi",
  "-i",
  "testsrc2=size=64x64:rate=30",
  "-metadata",
  `title=${word}`,
  ...output,
];
let words = 0;
export const uniqueWord = () => `reelpost-endless-${process.pid}-${++words}`;

export async function until(condition: () => boolean, what: string): Promise<void> {
  const late = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < late, `timed out after a minute, waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the path of a program in PATH. */
export const installedProgram = (name: string) =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((place) => join(place, name))
    .find((path) => existsSync(path))!;

/** Starts a local server that counts connections. */
export async function connectionCounter(t: TestContext) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {}).resume();
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return { port: (server.address() as { port: number }).port, connections: () => connections };
}
