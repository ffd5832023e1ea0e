import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readTags } from "../../src/protocol/flv/index.ts";
import { MESSAGE } from "../../src/protocol/rtmp/index.ts";
import type { BenchContext } from "../harness/bench.ts";
import type { MeasuredServer } from "../memory/server.ts";
import { ffmpeg } from "../vod-ladder/source-clip.ts";

interface Broadcast {
  uid: string;
  /** URLs of the multivariant playlist for low-latency HLS, and of the WHEP endpoint. */
  llhls: string;
  whep: string;
  /** Playback key for RTMP, and playback credentials for SRT. */
  rtmpKey: string;
  srt: { streamId: string; passphrase: string };
  stop(): Promise<void>;
}

interface LiveInput {
  uid: string;
  rtmps: { streamKey: string };
  rtmpsPlayback: { streamKey: string };
  srtPlayback: { streamId: string; passphrase: string };
  webRTCPlayback: { url: string };
  playback: { hls: string };
}

interface Loop {
  path: string;
  octetsPerSecond: { video: number; audio: number };
}

const LOOP_SECONDS = 10;
/** The file header, and the size of the tag before the first one: zero. */
const FLV_START = 13;

/** H.264 without B-frames, a key frame every two seconds, and AAC. */
export async function makeLoop(
  kit: BenchContext,
  { size, rate, kilobits }: { size: string; rate: number; kilobits: number },
): Promise<Loop> {
  const path = join(kit.dir, `loop-${size}.flv`);
  const input = `-f lavfi -i testsrc2=size=${size}:rate=${rate}:duration=${LOOP_SECONDS} -f lavfi -i sine=frequency=440:sample_rate=48000:duration=${LOOP_SECONDS}`;
  const video = `-c:v libx264 -preset veryfast -tune zerolatency -profile:v baseline -pix_fmt yuv420p -g ${2 * rate}`;
  const bitrate = `-b:v ${kilobits}k -maxrate ${kilobits}k -bufsize ${kilobits}k -c:a aac -b:a 96k`;
  await ffmpeg([...`${input} ${video} ${bitrate}`.split(" "), path]);
  const tags = [...readTags((await readFile(path)).subarray(FLV_START))];
  const octetsOf = (wanted: number) =>
    tags.reduce((sum, { type, data }) => sum + (type === wanted ? data.length : 0), 0) / LOOP_SECONDS;
  return { path, octetsPerSecond: { video: octetsOf(MESSAGE.video), audio: octetsOf(MESSAGE.audio) } };
}

/** Publishes the loop over RTMP in real time without transcoding, and waits until it can be played. */
export async function publishLoop(server: MeasuredServer, loop: string): Promise<Broadcast> {
  const made = (await server.call("POST", "/stream/live_inputs", {
    recording: { mode: "automatic" },
    preferLowLatency: true,
  })) as LiveInput;
  const source = ["-re", "-stream_loop", "-1", "-i", loop, "-c", "copy", "-f", "flv"];
  const target = `rtmp://127.0.0.1:${server.rtmpPort}/live/${made.rtmps.streamKey}`;
  const child = spawn("ffmpeg", ["-nostdin", "-loglevel", "error", ...source, target], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()).once("error", () => resolve()));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const llhls = `${made.playback.hls}?protocol=llhls`;
  for (const since = performance.now(); (await fetch(llhls)).status !== 200; await sleep(100)) {
    if (performance.now() - since < 30_000) continue;
    await stop();
    throw new Error("the broadcast cannot be played after 30 s");
  }
  return {
    uid: made.uid,
    llhls,
    whep: made.webRTCPlayback.url,
    rtmpKey: made.rtmpsPlayback.streamKey,
    srt: made.srtPlayback,
    stop,
  };
}
