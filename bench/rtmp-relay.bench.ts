import { join } from "node:path";
import type { FlvTag } from "../src/protocol/flv/index.ts";
import type { Arm, Bench, BenchContext } from "./harness/bench.ts";
import { startServerProcess } from "./harness/server-process.ts";
import { type Player, type Publisher, startPlayer, startPublisher } from "./rtmp-relay/load.ts";
import { startNginxRtmp } from "./rtmp-relay/nginx.ts";
import { makeTags } from "./rtmp-relay/tags.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";

const STREAMS = 4;
const SECONDS = 10;
/** Share of the octets that must arrive: a server may drop frames for a slow player, but these players are fast. */
const MIN_RECEIVED = 0.98;

/**
 * CPU time for four 6 Mbit/s broadcasts with one RTMP player each, compared with nginx-rtmp in the same run, and with two
 * servers in Node that forward octets without parsing them. The one that also allocates nothing per read is the lower
 * bound for Node.
 *
 * Profile (perf, four streams, 300 packets per second): half of the time is spent on the event loop and on reads, which
 * the forwarding servers need, too; a quarter on processing packets between the chunk reader and the players; a sixth on
 * writes; a sixth, including helper threads, on major garbage collections. One runs every 2.5 seconds, because V8 counts
 * the octets of all messages since the last one towards the heap limit, which is 15 MB. Messages cannot share one
 * buffer as in the lower bound: encoders, packagers and slow players keep them for longer.
 *
 * No gain: one system call for all packets of a read; a larger young generation; V8 without its memory reducer; external
 * memory in V8's global limit; writev(2) called directly instead of through the stream (18 to 23 microseconds per message
 * either way, also with ten players); messages in blocks of 256 KiB; a copy of the GOP in recycled memory (the messages
 * in transit alone cause the collections). Loss: writes for all players together every 4 ms cost 13 % more, because the
 * timer wakes the process 50 % more often, and a player seldom has two packets in that time. Not used: with
 * `--initial-old-space-size=64`, hardly any collections run, which saves 17 %, but each process may keep 64 MB of garbage.
 */
const bench: Bench = {
  name: "rtmp-relay",
  async setup(kit) {
    const tags = await makeTags(kit.dir, SECONDS);
    const relay = await startRelay(kit, "relay.ts");
    const octets = await startRelay(kit, "octets.ts");
    const reusedOctets = await startRelay(kit, "octets.ts", "reuse");
    const nginx = await startNginxRtmp(kit);
    return {
      peers: { "nginx-rtmp": nginx.version },
      arms: [
        arm("reelpost", relay, tags),
        arm("octets in Node", octets, tags),
        arm("octets in Node, reused buffer", reusedOctets, tags),
        arm("nginx-rtmp", { ...nginx, keys: (n) => [`stream-${n}`, `stream-${n}`], early: true }, tags),
      ],
      figures: (of) => ({
        cpu_ratio: of("reelpost") / of("nginx-rtmp"),
        octets_in_node_ratio: of("octets in Node") / of("nginx-rtmp"),
        octets_in_reused_buffer_ratio: of("octets in Node, reused buffer") / of("nginx-rtmp"),
        reelpost_cpu_ms: of("reelpost"),
        octets_in_node_cpu_ms: of("octets in Node"),
        octets_in_reused_buffer_cpu_ms: of("octets in Node, reused buffer"),
        nginx_cpu_ms: of("nginx-rtmp"),
      }),
    };
  },
};
export default bench;

interface Relay {
  port: number;
  pid: number;
  /** Returns the stream keys of publisher `n` and of its player. */
  keys(n: string): [string, string];
  /**
   * True if players connect before the publisher: with nginx, later players start with the second GOP. Reelpost rejects
   * players without a publisher, and later players start with the latest key frame.
   */
  early: boolean;
}

async function startRelay(kit: BenchContext, file: string, ...args: string[]): Promise<Relay> {
  const server = await startServerProcess({
    name: file,
    args: [join(import.meta.dirname, "rtmp-relay", file), ...args],
    cwd: kit.dir,
    ready: (line) => (line.startsWith("rtmp:") ? line : undefined),
  });
  kit.onStop(server.stop);
  const port = Number(new URL(server.url).port);
  return { port, pid: server.pid, keys: (n) => [`publish-${n}`, `play-${n}`], early: false };
}

function arm(name: string, { port, pid, keys, early }: Relay, tags: readonly FlvTag[]): Arm {
  let round = 0;
  return {
    name,
    unit: "ms of CPU",
    async sample() {
      round++;
      const clients: (Publisher | Player)[] = [];
      try {
        const before = cpuSecondsOfTree(pid);
        await Promise.all(
          Array.from({ length: STREAMS }, async (_, i) => {
            const [publish, play] = keys(`${round}-${i}`);
            const players = early ? [await startPlayer(port, play)] : [];
            const publisher = await startPublisher(port, publish);
            clients.push(publisher, ...players);
            // Reelpost accepts players after the codec configuration and the first frame have arrived.
            let sent = await publisher.send(tags.slice(0, 8));
            const [player = await withRetries(() => startPlayer(port, play))] = players;
            clients.push(player);
            sent += await publisher.send(tags.slice(8));
            await arrived(player, sent);
          }),
        );
        return (cpuSecondsOfTree(pid) - before) * 1000;
      } finally {
        for (const client of clients) client.close();
      }
    },
  };
}

async function withRetries<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (err) {
      if (tries === 20) throw err;
      await new Promise((resolve) => void setTimeout(resolve, 50));
    }
  }
}

/** Resolves when everything sent has arrived, or when data stops arriving. */
async function arrived(player: Player, sent: number): Promise<void> {
  for (let last = -1; player.received().octets !== last;) {
    last = player.received().octets;
    if (last >= sent) return;
    await new Promise((resolve) => void setTimeout(resolve, 300));
  }
  const { octets, frames } = player.received();
  if (octets < sent * MIN_RECEIVED)
    throw new Error(`${sent} octets of video were sent, but ${octets} arrived, in ${frames} messages`);
}
