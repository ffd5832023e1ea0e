// npm run -s drill -- NAME [--json] [--only word]... [--jobs n] [--seconds n]
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { memoryFolder } from "../scripts/memory-folder.ts";
import type { Drill, DrillResult, DrillContext } from "./harness/drill.ts";

const ROOT = join(import.meta.dirname, "..");
const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      only: { type: "string", multiple: true, default: [] },
      jobs: { type: "string", default: String(availableParallelism()) },
      seconds: { type: "string" },
    },
  });
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new Error(`--jobs must be a whole number of at least 1, not "${values.jobs}"`);
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 1))
    throw new Error(`--seconds must be a whole number of at least 1, not "${values.seconds}"`);
  const drill = await drillNamed(positionals[0]);
  const { summary, ok } = await run(drill, { jobs, only: values.only, ...(seconds !== undefined && { seconds }) });
  if (!values.json)
    for (const [key, value] of Object.entries(summary))
      if (typeof value !== "object") say(`${key.padEnd(28)} ${String(value)}`);
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  if (!ok) process.exitCode = 1;
}

async function drillNamed(name: string | undefined): Promise<Drill> {
  const names = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith(".drill.ts"))
    .map((file) => file.slice(0, -".drill.ts".length));
  if (name === undefined || !names.includes(name))
    throw new Error(`${name === undefined ? "specify a drill" : `unknown drill "${name}"`}: ${names.join(", ")}`);
  return ((await import(`./${name}.drill.ts`)) as { default: Drill }).default;
}

async function run(drill: Drill, options: Pick<DrillContext, "jobs" | "only" | "seconds">): Promise<DrillResult> {
  const stops: (() => Promise<void> | void)[] = [];
  const stop = async () => {
    for (const next of stops.splice(0).toReversed()) await next();
  };
  // Ensures that an interrupted drill leaves no processes or copies behind.
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  try {
    const memory = process.env["TMPDIR"] === undefined ? memoryFolder() : undefined;
    if (memory) {
      stops.push(() => memory.remove());
      process.env["TMPDIR"] = memory.path;
    }
    const dir = await mkdtemp(join(tmpdir(), "drill-"));
    stops.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
    return await drill.run({ root: ROOT, dir, ...options, say, onStop: (next) => void stops.push(next) });
  } finally {
    await stop();
  }
}

await main().catch((err: unknown) => {
  say(`drill: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = 1;
});
