import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

const program = join(import.meta.dirname, "limit-server.ts");

/** A bare Node server in front of workerd, in a separate process. Accepts any path. */
export async function startLimit(
  kit: BenchContext,
  { compatibilityDate }: { compatibilityDate: string },
): Promise<ServerProcess> {
  const dir = join(kit.dir, "limit");
  await mkdir(dir);
  const server = await startServerProcess({
    name: "bare server with workerd",
    args: [program, dir, compatibilityDate],
    cwd: dir,
    ready: (line) => /^ready (\S+)$/.exec(line)?.[1],
  });
  kit.onStop(server.stop);
  return server;
}
