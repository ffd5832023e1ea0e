import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess } from "../harness/server-process.ts";

/** The least that a server in Node needs: reads, signs twice and relays, and does nothing else. */
export async function startBareServer(
  kit: BenchContext,
  { sinkPort }: { sinkPort: number },
): Promise<{ port: number; pid: number }> {
  const server = await startServerProcess({
    name: "bare server",
    cwd: kit.dir,
    args: [join(import.meta.dirname, "bare-server.ts"), String(sinkPort)],
    ready: (line) => /^port (\d+)$/.exec(line)?.[1],
  });
  kit.onStop(server.stop);
  return { port: Number(server.url), pid: server.pid };
}
