import { createRequire } from "node:module";
import { systemClock } from "../kernel/clock.ts";
import { commandsFor, NOUNS } from "./registry.ts";
import { runCommandLine } from "./run.ts";

// The package root is two folders up, from src/cli as well as dist/cli.
const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

// `reelpost --help | head` closes the pipe early; that is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (err: NodeJS.ErrnoException) => {
    if (err.code !== "EPIPE") throw err;
  });
}
// Code called from here checks the environment to decide whether to use colour.
if (process.argv.includes("--no-color")) process.env.NO_COLOR = "1";

const { argv, env, stdin, stdout, stderr } = process;
process.exitCode = await runCommandLine({
  argv: argv.slice(2),
  nouns: NOUNS,
  commandsFor,
  version,
  cwd: process.cwd(),
  env,
  clock: systemClock,
  stdin,
  stdout,
  stderr,
});
