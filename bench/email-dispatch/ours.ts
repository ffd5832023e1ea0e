import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/** `reelpost dev` with the bundled worker in a separate process, with data on disk. */
export async function startReelpost(
  kit: BenchContext,
  { worker, compatibilityDate }: { worker: string; compatibilityDate: string },
): Promise<ServerProcess> {
  const dir = join(kit.dir, "reelpost");
  await mkdir(dir);
  const config = {
    name: "bench",
    main: worker,
    compatibility_date: compatibilityDate,
    kv_namespaces: [{ binding: "MAILS", id: "bench" }],
  };
  await writeFile(join(dir, "wrangler.jsonc"), JSON.stringify(config));
  const server = await startServerProcess({
    name: "reelpost dev",
    args: [main, "dev", "--json", "--port", "0", "--smtp-port", "0"],
    cwd: dir,
    ready: urlOfReadyEvent,
  });
  kit.onStop(server.stop);
  return server;
}

function urlOfReadyEvent(line: string): string | undefined {
  const event = JSON.parse(line) as { event: string; url?: string };
  return event.event === "ready" ? event.url : undefined;
}
