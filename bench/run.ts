// npm run -s bench -- NAME [--json] [--rounds n]; for growth also [--engine sqlite|postgres] [--rows quick|full] [--only NAME]
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Bench, BenchContext } from "./harness/bench.ts";
import { runRounds } from "./harness/rounds.ts";

const minRounds = 5;
const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      rounds: { type: "string", default: String(minRounds) },
      engine: { type: "string" },
      rows: { type: "string" },
      only: { type: "string" },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < minRounds)
    throw new Error(`--rounds must be a whole number of at least ${minRounds}, not "${values.rounds}"`);
  const bench = await benchNamed(positionals[0]);
  const result = await run(bench, rounds, values);
  if (!values.json) for (const [key, value] of Object.entries(result.figures)) say(`${key.padEnd(28)} ${value}`);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

async function benchNamed(name: string | undefined): Promise<Bench> {
  const names = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith(".bench.ts"))
    .map((file) => file.slice(0, -".bench.ts".length));
  if (name === undefined || !names.includes(name))
    throw new Error(
      `${name === undefined ? "specify a benchmark" : `unknown benchmark "${name}"`}: ${names.join(", ")}`,
    );
  return ((await import(`./${name}.bench.ts`)) as { default: Bench }).default;
}

async function run(bench: Bench, rounds: number, options: NonNullable<BenchContext["options"]>) {
  // In the project folder instead of /tmp, which may be in memory: the benchmarks include disk writes.
  const home = join(import.meta.dirname, "..", ".reelpost");
  await mkdir(home, { recursive: true });
  const dir = await mkdtemp(join(home, "bench-"));
  const stops: (() => Promise<void> | void)[] = [() => rm(dir, { recursive: true, force: true })];
  try {
    const prepared = await bench.setup({ dir, options, say, onStop: (stop) => void stops.push(stop) });
    const figures = await runRounds(prepared, rounds, say);
    return { bench: bench.name, figures, peers: prepared.peers, rounds };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

await main().catch((err: unknown) => {
  say(`bench: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = 1;
});
