import { join } from "node:path";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { startServerProcess, type ServerProcess } from "./harness/server-process.ts";
import { createDrain } from "./segment-serve/drain.ts";
import { type Library, createLibrary } from "./segment-serve/library.ts";
import { startNginx } from "./segment-serve/nginx.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";

const SAMPLE_MS = 2000;
const CONNECTIONS = 8;
const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");

/**
 * Serves segments of one video to eight concurrent viewers, in bytes per second of CPU time, compared with nginx, which
 * uses sendfile for the same files. `reelpost serve` authorizes every segment. Measured with the segment cache, and
 * without it, as in a large library. Also compared with `node:http` that only sends, the limit of a server in Node: from
 * memory, from files, and by sendfile(2) from files that stay open.
 *
 * Top five of the profile (perf, cached, self time): `_copy_from_iter` 17 to 30 %, which sendfile avoids; TCP code of the
 * kernel (`_raw_spin_unlock_irqrestore`) 4 to 14 %; concurrent garbage-collector marking on other threads 6 to 18 %; `handle_softirqs`
 * 3 %; `LoadICGenericBaseline`, which runs code that V8 has not optimized, up to 3 %. The rest is spread over the HTTP
 * parser, Node's streams and 30 functions of the server. Per segment of 0.7 MB, the kernel takes 170 to 190 microseconds;
 * user code takes 90 in a server under constant load, and up to 240 on a busy machine. nginx takes 140 in total.
 *
 * The context of a request was an object literal with accessors, which V8 stores in its old generation (24 bytes per
 * object), where they kept the request until the next full collection. As a class, 200 instead of 990 bytes per request
 * outlive a collection of the young generation, and garbage collection takes 12 to 16 instead of 40 to 84 microseconds
 * per request (2 KB segments, one process with the load, busy machine).
 *
 * Tried without a gain: TCP_CORK around headers and body, writing all headers in one call, a timer only for responses
 * that wait, and a larger young generation. Without the collection of garbage after startup, which discards optimized
 * code, the first two samples of one run were 40 and 60 % better, and later ones equal. Calling sendfile(2) by the
 * experimental `node:ffi` and keeping files open gained a third (0.28 to 0.37 of nginx from memory, 0.20 to 0.29 from
 * files, 14 rounds on a busy machine), but requires the file descriptor of a socket, which is a private member of Node. A
 * bare server that uses it reaches 0.81 of nginx, and one that sends from memory 0.75.
 */
const bench: Bench = {
  name: "segment-serve",
  async setup(kit) {
    const cached = await startOurs(kit, "kept", {});
    const fromFiles = await startOurs(kit, "files", { REELPOST_STREAM_SEGMENT_CACHE_MB: "0" });
    const bare = await startBare(kit, cached.library.root, "memory");
    const bareSendfile = await startBare(kit, cached.library.root, "sendfile");
    const bareFiles = await startBare(kit, cached.library.root, "files");
    const nginx = await startNginx(kit, cached.library.root);
    return {
      peers: { nginx: nginx.version },
      arms: [
        arm(kit, "reelpost", cached.server, cached.library, ({ address }) => address),
        arm(kit, "reelpost, from files", fromFiles.server, fromFiles.library, ({ address }) => address),
        arm(kit, "node:http", bare, cached.library, ({ file }) => `/${file}`),
        arm(kit, "node:http, sendfile", bareSendfile, cached.library, ({ file }) => `/${file}`),
        arm(kit, "node:http, from files", bareFiles, cached.library, ({ file }) => `/${file}`),
        arm(kit, "nginx", nginx, cached.library, ({ file }) => `/${file}`),
      ],
      figures: (of) => ({
        ratio_vs_nginx: of("reelpost") / of("nginx"),
        // The same for a server in Node that does nothing but send.
        node_http_ratio: of("node:http") / of("nginx"),
        node_http_sendfile_ratio: of("node:http, sendfile") / of("nginx"),
        node_http_from_files_ratio: of("node:http, from files") / of("nginx"),
        // The figure without the cache, and the values behind the ratios.
        from_files_ratio: of("reelpost, from files") / of("nginx"),
        mb_per_cpu_second: of("reelpost"),
        from_files_mb_per_cpu_second: of("reelpost, from files"),
        nginx_mb_per_cpu_second: of("nginx"),
      }),
    };
  },
};
export default bench;

async function startBare(
  kit: BenchContext,
  root: string,
  mode: "memory" | "files" | "sendfile",
): Promise<ServerProcess> {
  const server = await startServerProcess({
    name: "node:http",
    args: [join(import.meta.dirname, "segment-serve", "bare.ts"), root, mode],
    cwd: kit.dir,
    ready: (line) => line,
  });
  kit.onStop(server.stop);
  return server;
}

async function startOurs(
  kit: BenchContext,
  name: string,
  env: Record<string, string>,
): Promise<{ server: ServerProcess; library: Library }> {
  const cwd = join(kit.dir, name);
  const library = await createLibrary(cwd);
  const args = [main, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"];
  const server = await startServerProcess({
    name: "reelpost serve",
    args,
    cwd,
    env,
    ready: (line) => (JSON.parse(line) as { url?: string }).url,
  });
  kit.onStop(server.stop);
  return { server, library };
}

function arm(
  kit: BenchContext,
  name: string,
  { url, pid }: { url: string; pid: number },
  { segments }: Library,
  pathOf: (segment: Library["segments"][number]) => string,
): Arm {
  const drain = createDrain(url);
  kit.onStop(() => drain.close());
  return {
    name,
    unit: "MB/CPU-s",
    async sample() {
      let octets = 0;
      let next = 0;
      const before = cpuSecondsOfTree(pid);
      const began = performance.now();
      const viewer = async () => {
        while (performance.now() - began < SAMPLE_MS) {
          const segment = segments[next++ % segments.length]!;
          const got = await drain.get(pathOf(segment));
          if (got !== segment.size)
            throw new Error(`${pathOf(segment)} has ${segment.size} octets, but ${got} arrived`);
          octets += got;
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, viewer));
      return octets / 1e6 / (cpuSecondsOfTree(pid) - before);
    },
  };
}
