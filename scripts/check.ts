// npm run check: runs all checks, as many in parallel as there are cores. Prints the output of each check when it ends.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
/** The commands of every `check:` script. */
const checks = Object.entries(scripts)
  .filter(([name]) => name.startsWith("check:"))
  .flatMap(([, commands]) => commands.split(" && "));

const waiting = [...checks];
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));

async function work(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const begun = performance.now();
    const { code, output } = await run(check);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    process.stdout.write(`${code === 0 ? "ok    " : "FAILED"} ${seconds.padStart(5)} s  ${check}\n`);
    if (code === 0) continue;
    process.stdout.write(output);
    process.exitCode = 1;
  }
}

function run(check: string): Promise<{ code: number | null; output: string }> {
  const [command, ...args] = check.split(" ") as [string, ...string[]];
  const bin = join(ROOT, "node_modules", ".bin");
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) =>
    child.once("error", reject).once("close", (code) => resolve({ code, output })),
  );
}
