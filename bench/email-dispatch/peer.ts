import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";
import { installedPeer } from "../harness/peers.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

/** Miniflare with the bundled worker and a KV namespace on disk, in a separate process. */
export async function startMiniflare(
  kit: BenchContext,
  { worker, compatibilityDate }: { worker: string; compatibilityDate: string },
): Promise<ServerProcess & { version: string }> {
  const { dir, version } = await installedPeer("miniflare", kit.say);
  const server = await startServerProcess({
    name: "miniflare",
    args: [join(dir, "serve.mjs"), worker, join(kit.dir, "miniflare-kv"), compatibilityDate],
    cwd: dir,
    ready: (line) => /^ready (\S+)$/.exec(line)?.[1],
  });
  kit.onStop(server.stop);
  return { ...server, version };
}
