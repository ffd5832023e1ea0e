import { createRequire } from "node:module";
import { systemClock } from "../kernel/clock.ts";
import { commandsFor, NOUNS } from "./registry.ts";
import { runCommandLine } from "./run.ts";

// Two folders up is the package, from src/cli as from dist/cli.
const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };

// `reelpost --help | head` closes the pipe early; that is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (err: NodeJS.ErrnoException) => {
    if (err.code !== "EPIPE") throw err;
  });
}
// Everything below decides by the environment whether colour is wanted.
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
