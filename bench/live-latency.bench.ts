import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { openBrowser, openSite } from "../test/support/browser.ts";
import type { Bench } from "./harness/bench.ts";
import { HLS_PAGE, WEBRTC_PAGE } from "./live-latency/pages.ts";
import { publishClock } from "./live-latency/publisher.ts";
import { ffmpegVersion } from "./vod-ladder/source-clip.ts";
import { startVideoServer } from "./vod/server.ts";

/** A player needs a few seconds to settle at its live latency. */
const SETTLE_MS = 6_000;
const WATCH_MS = 10_000;

/** Combinations of ingest and playback protocol. */
const PATHS = [
  { name: "RTMP to LL-HLS", figure: "rtmp_llhls", from: "RTMP", page: "/hls" },
  { name: "RTMP to WHEP", figure: "rtmp_whep", from: "RTMP", page: "/webrtc" },
  { name: "WHIP to LL-HLS", figure: "whip_llhls", from: "WHIP", page: "/hls" },
  { name: "WHIP to WHEP", figure: "whip_whep", from: "WHIP", page: "/webrtc" },
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
 * ffmpeg publishes RTMP with audio, a page publishes WHIP; hls.js plays low-latency HLS, another page plays WHEP. The
 * figures include encoders and decoders.
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
    const open = async (path: string): Promise<Page> => {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${site}${path}`);
      return page;
    };
    const [broadcast, call] = await Promise.all([
      server.call<LiveInput>("POST", "/live_inputs", { recording: { mode: "automatic" }, preferLowLatency: true }),
      server.call<LiveInput>("POST", "/live_inputs", { recording: { mode: "automatic" } }),
    ]);
    const publisher = publishClock(`${broadcast.rtmp.url}${broadcast.rtmp.streamKey}`);
    kit.onStop(publisher.stop);
    const caller = await open("/webrtc");
    await caller.evaluate(`publish(${JSON.stringify(call.webRTC.url)})`);
    for (const { playback } of [broadcast, call]) await until(async () => (await fetch(lowLatency(playback.hls))).ok);

    const all: Record<string, number[]> = {};
    async function sample(name: string, path: string, url: string): Promise<number> {
      const page = await open(path);
      const ages = (await Promise.race([
        page.evaluate(`(async () => {
        await play(${JSON.stringify(url)});
        await new Promise((done) => setTimeout(done, ${SETTLE_MS}));
        return watch(video, ${WATCH_MS});
      })()`),
        publisher.ended,
      ])) as number[];
      await page.context().close();
      if (ages.length < WATCH_MS / 100) throw new Error(`${name}: only ${ages.length} frames were read`);
      all[name] = ages;
      return at(ages, 0.95);
    }
    return {
      peers: { ffmpeg: await ffmpegVersion(), chromium: browser.version() },
      arms: PATHS.map(({ name, from, page }) => {
        const { playback, webRTCPlayback } = from === "RTMP" ? broadcast : call;
        return {
          name,
          unit: "s (p95)",
          sample: () => sample(name, page, page === "/hls" ? lowLatency(playback.hls) : webRTCPlayback.url),
        };
      }),
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

const lowLatency = (manifest: string): string => `${manifest}?protocol=llhls`;

const at = (ages: readonly number[], share: number): number =>
  ages.toSorted((a, b) => a - b)[Math.min(ages.length - 1, Math.ceil(ages.length * share) - 1)]! / 1000;

async function until(done: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await done()); await new Promise((resolve) => setTimeout(resolve, 100)))
    if (Date.now() > deadline) throw new Error("the broadcast is not playable after a minute");
}
