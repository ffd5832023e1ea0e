import { join } from "node:path";
import { build } from "esbuild";
import { createMails } from "./email-dispatch/mail.ts";
import { startMiniflare } from "./email-dispatch/peer.ts";
import type { Arm, Bench, Kit } from "./harness/bench.ts";
import { createClient, throughput } from "./harness/load.ts";

const compatibilityDate = "2026-07-01"; // both runtimes know it
const sampleMs = 2000;
const path = "/cdn-cgi/handler/email?from=ada%40sender.example&to=inbox%40reelpost.example";

const bench: Bench = {
  name: "email-dispatch",
  async setup(kit) {
    const worker = await bundledWorker(kit);
    const miniflare = await startMiniflare(kit, { worker, compatibilityDate });
    return {
      peers: { miniflare: miniflare.version },
      arms: [...dispatchArms(kit, "miniflare", miniflare.url)],
      figures: (of) => ({ sequential: of("miniflare sequential"), concurrent32: of("miniflare 32 concurrent") }),
    };
  },
};
export default bench;

/** One file without imports, so that both sides run the very same code. */
async function bundledWorker(kit: Kit): Promise<string> {
  const outfile = join(kit.dir, "worker.js");
  await build({ entryPoints: [join(import.meta.dirname, "email-dispatch", "worker.ts")], outfile, bundle: true, format: "esm", target: "es2024", conditions: ["workerd", "worker", "browser"], logLevel: "error" });
  return outfile;
}

function dispatchArms(kit: Kit, who: string, url: string): Arm[] {
  const client = createClient(url);
  kit.onStop(client.close);
  const nextMail = createMails({ size: 4096, prefix: who });
  const send = async () => {
    const { status, body } = await client.post(path, nextMail());
    if (status !== 200) throw new Error(`${who} answered ${status}: ${body.slice(0, 500)}`);
  };
  return [1, 32].map((concurrency) => ({
    name: concurrency === 1 ? `${who} sequential` : `${who} ${concurrency} concurrent`,
    unit: "msg/s",
    sample: () => throughput(send, { concurrency, forMs: sampleMs }),
  }));
}
