import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { openBrowser, openSite } from "../test/support/browser.ts";
import type { Bench } from "./harness/bench.ts";
import { CLOCK_SCRIPT } from "./live-latency/clock.ts";
import { HLS_PAGE, WEBRTC_PAGE } from "./live-latency/pages.ts";
import { publishClock } from "./live-latency/publisher.ts";
import { ffmpegVersion } from "./vod-ladder/source-clip.ts";
import { startVideoServer } from "./vod/server.ts";

/** A player needs a few seconds to settle at its live latency. */
const SETTLE_MS = 6_000;
const WATCH_MS = 10_000;
/** A page that has not played by then has failed. */
const PLAY_TIMEOUT_MS = 30_000;

/** Combinations of ingest protocol, playback protocol and player. */
const PATHS = [
  { name: "RTMP to LL-HLS", figure: "rtmp_llhls", from: "RTMP", player: "own" },
  { name: "RTMP to LL-HLS, plain hls.js", figure: "rtmp_plain_hlsjs", from: "RTMP", player: "/hls" },
  { name: "RTMP to WHEP", figure: "rtmp_whep", from: "RTMP", player: "/webrtc" },
  { name: "WHIP to LL-HLS", figure: "whip_llhls", from: "WHIP", player: "own" },
  { name: "WHIP to WHEP", figure: "whip_whep", from: "WHIP", player: "/webrtc" },
] as const;

interface LiveInput {
  uid: string;
  rtmp: { url: string; streamKey: string };
  webRTC: { url: string };
  webRTCPlayback: { url: string };
  playback: { hls: string };
}

/**
 * Glass-to-glass latency in seconds: the time of day is burned into the frames and read from the Chromium screen.
 * ffmpeg publishes RTMP with audio, a page publishes WHIP. The embeddable player plays low-latency HLS; a second page
 * plays it with hls.js and nothing but `lowLatencyMode`, and a third plays WHEP like the player. The figures include
 * encoders and decoders.
 *
 * Low-latency HLS at 30 fps and `live.part_ms` 200: PART-TARGET is 0.21 s, PART-HOLD-BACK 0.63 s. A part is published
 * one frame after its last one. The target latency is therefore about 0.7 s, but a player was 0.7 to 1.8 s behind it:
 * hls.js selects the start position when the first playlist arrives, and keeps the time until the first frame as
 * latency. Its own catching up (`maxLiveSyncPlaybackRate`) needs a buffer of one second, which a player near that target
 * never has, and each stall adds one second to the target. Changes in the player:
 * - a seek within the buffer to the target position, once, when playback starts;
 * - a rate of 1.05 until the target is reached, while two parts are buffered;
 * - a stall adds 0.4 s to the target.
 * With more than twenty runnable processes on two cores, the median fell from 2.5 to 1.1 s and p95 from 3.0 to 1.2 s.
 * hls.js alone cannot be changed from the server, except by a shorter hold-back. The specification recommends three
 * parts, and parts of 100 ms would double the requests of every viewer.
 */
const bench: Bench = {
  name: "live-latency",
  async setup(kit) {
    const server = await startVideoServer(kit, "server");
    const browser = await openBrowser({ after: kit.onStop });
    const hls = join(dirname(createRequire(import.meta.url).resolve("hls.js")), "hls.js");
    const site = await openSite(
      { after: kit.onStop },
      {
        "/hls": { type: "text/html", body: HLS_PAGE },
        "/webrtc": { type: "text/html", body: WEBRTC_PAGE },
        "/hls.js": { type: "text/javascript", file: hls },
      },
    );
    const [broadcast, call] = await Promise.all([
      server.call<LiveInput>("POST", "/live_inputs", { recording: { mode: "automatic" }, preferLowLatency: true }),
      server.call<LiveInput>("POST", "/live_inputs", { recording: { mode: "automatic" } }),
    ]);
    const publisher = publishClock(`${broadcast.rtmp.url}${broadcast.rtmp.streamKey}`);
    kit.onStop(publisher.stop);
    const caller = await (await browser.newContext()).newPage();
    await caller.goto(`${site}/webrtc`);
    await caller.evaluate(`publish(${JSON.stringify(call.webRTC.url)})`);
    for (const { playback } of [broadcast, call])
      // Before the broadcast, the response is an empty 204.
      await until(async () => (await fetch(lowLatency(playback.hls))).status === 200);

    const all: Record<string, number[]> = {};
    async function sample(name: string, { url, play = "" }: { url: string; play?: string }): Promise<number> {
      const page = await (await browser.newContext()).newPage();
      await page.goto(url);
      const watching = page.evaluate(`(async () => {
        ${CLOCK_SCRIPT}
        ${play}
        const video = document.querySelector("video");
        await new Promise((done, fail) => {
          if (video.currentTime > 0) done();
          video.addEventListener("timeupdate", () => video.currentTime > 0 && done());
          setTimeout(() => fail(new Error("nothing was played")), ${PLAY_TIMEOUT_MS});
        });
        await new Promise((done) => setTimeout(done, ${SETTLE_MS}));
        return watch(video, ${WATCH_MS});
      })()`) as Promise<number[]>;
      const ages = await Promise.race([watching, publisher.ended]);
      await page.context().close();
      if (ages.length < WATCH_MS / 100) throw new Error(`${name}: only ${ages.length} frames were read`);
      all[name] = ages;
      return at(ages, 0.95);
    }
    return {
      peers: { ffmpeg: await ffmpegVersion(), chromium: browser.version() },
      arms: PATHS.map(({ name, from, player }) => ({
        name,
        unit: "s (p95)",
        sample: () => sample(name, pageOf(from === "RTMP" ? broadcast : call, player, site)),
      })),
      figures: (of) =>
        Object.fromEntries(
          PATHS.flatMap(({ name, figure }) => [
            [`${figure}_p95_s`, of(name)],
            [`${figure}_p50_s`, at(all[name]!, 0.5)],
          ]),
        ),
    };
  },
};
export default bench;

function pageOf(
  { playback, webRTCPlayback }: LiveInput,
  player: (typeof PATHS)[number]["player"],
  site: string,
): { url: string; play?: string } {
  // Like the embedding page of a viewer.
  if (player === "own") return { url: new URL("../iframe?muted=true&autoplay=true", playback.hls).href };
  const source = player === "/hls" ? lowLatency(playback.hls) : webRTCPlayback.url;
  return { url: `${site}${player}`, play: `await play(${JSON.stringify(source)});` };
}

const lowLatency = (manifest: string): string => `${manifest}?protocol=llhls`;

const at = (ages: readonly number[], share: number): number =>
  ages.toSorted((a, b) => a - b)[Math.min(ages.length - 1, Math.ceil(ages.length * share) - 1)]! / 1000;

async function until(done: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await done()); await new Promise((resolve) => setTimeout(resolve, 100)))
    if (Date.now() > deadline) throw new Error("the broadcast is not playable after a minute");
}
