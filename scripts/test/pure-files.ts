// Runs test files that share one process: scripts/test.ts passes their paths. See pure.ts for the conditions that these
// files meet.
import { afterEach, beforeEach } from "node:test";
import { pathToFileURL } from "node:url";

// Keeps the process alive: a test may wait for a timer that does not.
let running = 0;
let alive: NodeJS.Timeout | undefined;
beforeEach(() => {
  if (running++ === 0) alive = setInterval(() => {}, 60_000);
});
afterEach(() => {
  if (--running === 0) clearInterval(alive);
});

for (const file of JSON.parse(process.env["TEST_PURE_FILES"] ?? "[]") as string[])
  await import(pathToFileURL(file).href);
