import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, Bench } from "./harness/bench.ts";
import { packagedProgram, startMeasured } from "./memory/server.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";
import { makeLoop, publishLoop } from "./viewers/broadcast.ts";
import { createHlsViewers } from "./viewers/hls.ts";
import { startJanus } from "./viewers/janus.ts";
import { openRtmpViewer } from "./viewers/rtmp.ts";
import { openSrtViewer } from "./viewers/srt.ts";
import { type CountingViewer, openWhepViewer } from "./viewers/whep.ts";

const FEW = 20;
/** Chosen so that a run passes on two cores that also run the clients. */
const MANY = { rtmp: 500, srt: 120, whep: 80, janus: 80, llhls: 200 };
const WINDOW_MS = 2000;
const SETTLE_MS = 700;

interface Cost {
  /** Milliseconds of CPU time per second, for each of the first viewers and of the further ones. */
  few: number;
  many: number;
  /** Media that each of all viewers received, over that of each of the first ones. */
  served: number;
}

interface Protocol {
  name: keyof typeof MANY;
  /** The server whose CPU time is measured, with its child processes. */
  pid: number;
  /** Opens this many more viewers. */
  open(count: number): Promise<{ close(): void }[]>;
  /** Octets received by all viewers so far. */
  received(): number;
}

/**
 * CPU time of `reelpost serve` for each viewer of a broadcast, in milliseconds per second: of the first viewers, and of
 * each further one up to `MANY`. `_growth` is the ratio of the two: 1 is a flat cost. It is valid while `_served` is 1: on
 * a busy machine, the server or the clients fall behind. Janus serves WebRTC viewers from RTP.
 * The broadcast has 240p at 15 frames a second, 300 kbit/s, and audio; it is not encoded again. The clients acknowledge
 * like real ones, and do not decrypt or decode.
 *
 * The code showed, and changes removed:
 * - SRT: each player wrote a transport stream of its own, with three copies of each frame. Now it is written once.
 * - WHEP: werift cloned each packet, wrote three header extensions and stored it, for each viewer. Now a viewer writes a
 *   header of twelve octets, and shares the payload.
 * - Tried without gain: a look-up function for literal addresses in node:dgram; sendmsg(2) takes 6 of 8 microseconds.
 * LL-HLS playlists were already written once for all viewers.
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
    const broadcast = await publishLoop(server, loop);
    kit.onStop(broadcast.stop);
    const hls = await createHlsViewers(broadcast.llhls);
    kit.onStop(hls.close);
    const costs = new Map<string, Cost>();
    const janus = await startJanus(kit, loop);
    if (janus === undefined) kit.say("Janus is not installed: apt-get install janus");
    const { pid } = server;
    const protocols: Protocol[] = [
      counted("rtmp", pid, () => openRtmpViewer(server.rtmpPort, broadcast.rtmpKey)),
      counted("srt", pid, () => openSrtViewer(server.srtPort, broadcast.srt)),
      counted("whep", pid, () => openWhepViewer(broadcast.whep)),
      ...(janus === undefined ? [] : [counted("janus", janus.pid, janus.openViewer)]),
      { name: "llhls", pid, open: async (count: number) => hls.open(count), received: hls.received },
    ];
    return {
      peers: { ...(janus !== undefined && { janus: janus.version }) },
      arms: protocols.map((protocol) => arm(protocol, costs)),
      figures: () => ({
        ...(janus !== undefined && { whep_cpu_vs_janus: costs.get("whep")!.many / costs.get("janus")!.many }),
        ...Object.fromEntries(
          [...costs].flatMap(([name, { few, many, served }]) => [
            [`${name}_ms_few`, few],
            [`${name}_ms_many`, many],
            [`${name}_growth`, many / few],
            [`${name}_served`, served],
            [`${name}_viewers_per_core`, 1000 / many],
          ]),
        ),
      }),
    };
  },
};
export default bench;

function counted(name: keyof typeof MANY, pid: number, openOne: () => Promise<CountingViewer>): Protocol {
  const all: CountingViewer[] = [];
  return {
    name,
    pid,
    async open(count) {
      const opened: CountingViewer[] = [];
      try {
        for (let n = 0; n < count; n++) opened.push(await openOne());
      } catch (err) {
        for (const viewer of opened) viewer.close();
        throw err;
      }
      all.push(...opened);
      return opened;
    },
    received: () => all.reduce((sum, viewer) => sum + viewer.received(), 0),
  };
}

function arm({ name, pid, open, received }: Protocol, costs: Map<string, Cost>): Arm {
  /** Milliseconds of CPU time and octets of media in a second. */
  async function measure(): Promise<{ ms: number; octets: number }> {
    await sleep(SETTLE_MS);
    const before = { cpu: cpuSecondsOfTree(pid), octets: received(), at: performance.now() };
    await sleep(WINDOW_MS);
    const seconds = (performance.now() - before.at) / 1000;
    return {
      ms: ((cpuSecondsOfTree(pid) - before.cpu) * 1000) / seconds,
      octets: (received() - before.octets) / seconds,
    };
  }
  return {
    name,
    unit: "ms of CPU per viewer and second",
    async sample() {
      const none = await measure();
      const viewers = await open(FEW);
      let few = none;
      let many = none;
      try {
        few = await measure();
        viewers.push(...(await open(MANY[name] - FEW)));
        many = await measure();
      } finally {
        for (const viewer of viewers) viewer.close();
      }
      await sleep(SETTLE_MS);
      const served = many.octets / MANY[name] / (few.octets / FEW);
      const cost = { few: (few.ms - none.ms) / FEW, many: (many.ms - few.ms) / (MANY[name] - FEW), served };
      costs.set(name, cost);
      return cost.many;
    },
  };
}
