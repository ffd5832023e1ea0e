// Runs test files that share one process: scripts/test.ts passes their paths. See pure.ts for which files these are.
import { pathToFileURL } from "node:url";

for (const file of JSON.parse(process.env["TEST_PURE_FILES"] ?? "[]") as string[])
  await import(pathToFileURL(file).href);
