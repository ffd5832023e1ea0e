import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, Bench } from "./harness/bench.ts";
import { packagedProgram, startMeasured } from "./memory/server.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";
import { makeLoop, publishLoop } from "./viewers/broadcast.ts";
import { deliveredShare, requireDelivered } from "./viewers/delivered.ts";
import { createHlsViewers } from "./viewers/hls.ts";
import { startJanus } from "./viewers/janus.ts";
import { openRtmpViewer } from "./viewers/rtmp.ts";
import { openSrtViewer } from "./viewers/srt.ts";
import { type CountingViewer, openWhepViewer } from "./viewers/whep.ts";

const FEW = 20;
/** Chosen so that a run passes on two idle cores that also run the clients. */
const MANY = { rtmp: 500, srt: 120, whep: 80, janus: 80, llhls: 200 };
/** A sample with fewer viewers is no longer a slope. */
const MIN_MANY = 2 * FEW;
/** Viewers that connect at the same time. */
const OPENING = 4;
const OPEN_TIMEOUT_MS = 30_000;
/** Two key frame intervals, so that every window contains the same share of key frames. */
const WINDOW_MS = 4000;
const IDLE_WINDOW_MS = 2000;
const SETTLE_MS = 700;

interface Cost {
  viewers: number;
  /** Milliseconds of CPU time per second, for each of the first viewers and for each additional one. */
  few: number;
  many: number;
  /** Share of the published media that the viewers received. */
  delivered: number;
}

const UNKNOWN: Cost = { viewers: NaN, few: NaN, many: NaN, delivered: NaN };

interface Protocol {
  name: keyof typeof MANY;
  /** The server whose CPU time is measured, including its child processes. */
  pid: number;
  /** Published octets per second of the media that `received` counts. */
  published: number;
  /** Opens this many additional viewers. */
  open(count: number): Promise<{ close(): void }[]>;
  /** Octets received by all viewers so far. Throws if a viewer has failed. */
  received(): number;
}

/**
 * CPU time of `reelpost serve` per viewer of a broadcast, in milliseconds per second: for each of the first viewers, and
 * for each additional one up to `MANY`. `_growth` is the ratio of the two: 1 means that the cost is constant. Janus
 * serves WebRTC viewers from RTP.
 * The broadcast has 240p at 15 frames per second, 300 kbit/s, and audio; it is not transcoded. The clients acknowledge
 * packets like real ones, but do not decrypt or decode them.
 *
 * A sample counts only if the viewers received at least 90 % of the published media: on a busy machine, the server or
 * the clients fall behind, and a viewer that receives less costs less. Otherwise, and if the viewers do not connect
 * within 30 s, it is repeated with half as many, and so are the later samples of this protocol. `_viewers` is that
 * number; figures of a protocol that was never measured are null. `_delivered` may exceed 1, because the received octets
 * include packet headers.
 *
 * Findings, and changes:
 * - SRT: each player wrote its own transport stream, with three copies of each frame. Now one is written for all.
 * - WHEP: werift cloned each packet, wrote three header extensions and stored it, for each viewer. Now each viewer writes
 *   a header of twelve octets and shares the payload.
 * - No gain: a lookup function for literal addresses in node:dgram; sendmsg(2) takes 6 of 8 microseconds.
 * - LL-HLS: each playlist was already written once for all viewers.
 * - With 20 to 35 runnable processes on two cores, 60 RTMP, 40 WHEP, 80 Janus and 40 LL-HLS viewers received everything.
 *   A WHEP viewer took a third to a half of the CPU time of one of Janus 1.1.
 */
const bench: Bench = {
  name: "viewers",
  async setup(kit) {
    const server = await startMeasured(kit, "live", {
      program: await packagedProgram(),
      plain: true,
      env: {
        REELPOST_LIVE_LADDER: "240p",
        REELPOST_HTTP_CONNECTIONS_PER_ADDRESS: "9000",
        REELPOST_LIVE_CONNECTIONS: "2000",
      },
    });
    const loop = await makeLoop(kit, { size: "426x240", rate: 15, kilobits: 300 });
    const broadcast = await publishLoop(server, loop.path);
    kit.onStop(broadcast.stop);
    const hls = await createHlsViewers(broadcast.llhls);
    kit.onStop(hls.close);
    const costs = new Map<string, Cost>();
    const janus = await startJanus(kit, loop.path);
    if (janus === undefined) kit.say("Janus is not installed: apt-get install janus");
    const { pid } = server;
    const { video, audio } = loop.octetsPerSecond;
    const protocols: Protocol[] = [
      counted("rtmp", pid, video + audio, () => openRtmpViewer(server.rtmpPort, broadcast.rtmpKey)),
      counted("srt", pid, video + audio, () => openSrtViewer(server.srtPort, broadcast.srt)),
      counted("whep", pid, video, () => openWhepViewer(broadcast.whep)),
      ...(janus === undefined ? [] : [counted("janus", janus.pid, video, janus.openViewer)]),
      { name: "llhls", pid, published: video, open: async (count: number) => hls.open(count), received: hls.received },
    ];
    return {
      peers: { ...(janus !== undefined && { janus: janus.version }) },
      arms: protocols.map((protocol) => arm(protocol, costs, kit.say)),
      figures: () => ({
        ...(janus !== undefined && {
          whep_cpu_vs_janus: (costs.get("whep") ?? UNKNOWN).many / (costs.get("janus") ?? UNKNOWN).many,
        }),
        ...Object.fromEntries(
          protocols.flatMap(({ name }) => {
            const { viewers, few, many, delivered } = costs.get(name) ?? UNKNOWN;
            return [
              [`${name}_viewers`, viewers],
              [`${name}_ms_few`, few],
              [`${name}_ms_many`, many],
              [`${name}_growth`, many / few],
              [`${name}_delivered`, delivered],
              [`${name}_viewers_per_core`, 1000 / many],
            ];
          }),
        ),
      }),
    };
  },
};
export default bench;

function counted(
  name: keyof typeof MANY,
  pid: number,
  published: number,
  openOne: () => Promise<CountingViewer>,
): Protocol {
  const all: CountingViewer[] = [];
  return {
    name,
    pid,
    published,
    async open(count) {
      const opened = await openAll(count, openOne);
      all.push(...opened);
      return opened;
    },
    received: () => all.reduce((sum, viewer) => sum + viewer.received(), 0),
  };
}

async function openAll(count: number, openOne: () => Promise<CountingViewer>): Promise<CountingViewer[]> {
  const opened: CountingViewer[] = [];
  const deadline = performance.now() + OPEN_TIMEOUT_MS;
  let requested = 0;
  const opener = async () => {
    while (requested < count) {
      if (performance.now() > deadline)
        throw new Error(`only ${opened.length} of ${count} viewers connected within ${OPEN_TIMEOUT_MS / 1000} s`);
      requested++;
      opened.push(await openOne());
    }
  };
  const results = await Promise.allSettled(Array.from({ length: OPENING }, opener));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return opened;
  for (const viewer of opened) viewer.close();
  throw failed.reason;
}

function arm(
  { name, pid, published, open, received }: Protocol,
  costs: Map<string, Cost>,
  say: (line: string) => void,
): Arm {
  let most = MANY[name];

  /** Milliseconds of CPU time, and octets received by all viewers, per second. */
  async function measure(windowMs = WINDOW_MS): Promise<{ ms: number; octets: number }> {
    await sleep(SETTLE_MS);
    const before = { cpu: cpuSecondsOfTree(pid), octets: received(), at: performance.now() };
    await sleep(windowMs);
    const seconds = (performance.now() - before.at) / 1000;
    return {
      ms: ((cpuSecondsOfTree(pid) - before.cpu) * 1000) / seconds,
      octets: (received() - before.octets) / seconds,
    };
  }
  async function measureViewers(viewers: number) {
    const { ms, octets } = await measure();
    const delivered = deliveredShare({ octets, viewers, published });
    requireDelivered(name, viewers, delivered);
    return { ms, delivered };
  }
  async function costOf(count: number): Promise<Cost> {
    const none = await measure(IDLE_WINDOW_MS);
    const viewers = await open(FEW);
    try {
      const few = await measureViewers(FEW);
      viewers.push(...(await open(count - FEW)));
      const many = await measureViewers(count);
      return {
        viewers: count,
        few: (few.ms - none.ms) / FEW,
        many: (many.ms - few.ms) / (count - FEW),
        delivered: Math.min(few.delivered, many.delivered),
      };
    } finally {
      for (const viewer of viewers) viewer.close();
      await sleep(SETTLE_MS);
    }
  }
  return {
    name,
    unit: "ms of CPU per viewer and second",
    async sample() {
      costs.delete(name);
      for (;;) {
        try {
          const cost = await costOf(most);
          costs.set(name, cost);
          return cost.many;
        } catch (err) {
          say(`${name}, ${most} viewers: ${messageOf(err)}`);
          if (most === MIN_MANY) return NaN;
          most = Math.max(MIN_MANY, Math.floor(most / 2));
        }
      }
    },
  };
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));
