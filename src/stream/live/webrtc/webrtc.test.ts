import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { FAKE_CAMERA, openBrowser, openPage, withoutChromium } from "../../../../test/support/browser.ts";
import { clip, needsFfmpeg, X264 } from "../../../../test/support/media.ts";
import { readAvcConfig, readSps } from "../../../protocol/h264/index.ts";
import { createLog } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import { createMediaTools } from "../../media/tools.ts";
import { createTranscoder } from "./transcoder.ts";
import { PAGE_SCRIPT } from "./page.testing.ts";
import type { LiveWebrtc, LiveWebrtcDeps } from "./webrtc.ts";
import {
  createSmallHub,
  publishInRealTime,
  readFlv,
  sendInvalidDatagrams,
  type SmallHub,
  startLossyRelay,
  startWebrtc,
  until,
} from "./webrtc.testing.ts";

interface Answer {
  status: number;
  location: string;
  etag: string;
  version: string;
  sdp: string;
}

describe("a browser", { skip: withoutChromium(), concurrency: 4 }, () => {
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];
  before(async () => {
    browser = await openBrowser({ after: (end) => void ends.unshift(end) }, FAKE_CAMERA);
  });
  after(async () => {
    for (const end of ends) await end();
  });

  async function open(
    t: { after(end: () => Promise<void>): void },
    hub: SmallHub,
    parts: Partial<LiveWebrtcDeps> = {},
  ): Promise<{ page: Page; origin: string; webrtc: LiveWebrtc }> {
    const server = await startWebrtc(hub, parts);
    t.after(server.close);
    const { page } = await openPage(browser, server.origin);
    t.after(() => page.context().close());
    await page.evaluate(PAGE_SCRIPT);
    return { page, origin: server.origin, webrtc: server.webrtc };
  }

  const publish = (page: Page, hub: SmallHub, options: object = {}) =>
    page.evaluate(`publish("/${hub.secret}/webRTC/publish", ${JSON.stringify(options)})`) as Promise<Answer>;
  const play = (page: Page, id: string, options: object = {}) =>
    page.evaluate(`play("/${id}/webRTC/play", ${JSON.stringify(options)})`) as Promise<Answer>;
  const portOf = ({ sdp }: Answer) => Number(/a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)/.exec(sdp)![1]);
  const take = (page: Page, who: "publisher" | "viewer", { sdp }: Answer, port: number) =>
    page.evaluate(`${who}.setRemoteDescription({ type: "answer", sdp: through(${JSON.stringify(sdp)}, ${port}) })`);
  const framesOf = async (page: Page) =>
    ((await page.evaluate("received()")) as Record<string, { frames: number }>)["video"]?.frames ?? 0;

  test("publishes H.264 and Opus in ordered packets that begin with a key frame, with audio and video on one clock", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    const began = performance.now();
    const answer = await publish(page, hub);
    assert.equal(answer.status, 201, answer.sdp);
    assert.match(answer.location, new RegExp(`^/${hub.secret}/webRTC/publish/[0-9a-f]{32}$`));
    assert.equal(answer.version, "draft-ietf-wish-whip-06");
    await until("the first packet", () => hub.packets.length > 0);
    t.diagnostic(`first packet ${(performance.now() - began).toFixed(0)} ms after getUserMedia`);
    await until("a second key frame", () => hub.packets.filter(({ kind, key }) => kind === "video" && key).length > 1);
    const [{ video, audio }] = hub.tracks as [(typeof hub.tracks)[number]];
    assert.deepEqual(
      [video?.codec, video?.width, video?.height, audio?.codec, audio?.channels],
      ["h264", 320, 180, "opus", 2],
    );
    assert.equal(readSps(readAvcConfig(video!.config).sps[0]!).width, 320);
    t.diagnostic(`configurations: ${hub.tracks.length}, lost: ${hub.lost()}`);
    const pictures = hub.packets.filter(({ kind }) => kind === "video");
    assert.equal(pictures[0]!.key, true);
    const keys = pictures.filter(({ key }) => key).map(({ pts }) => pts);
    assert.ok(keys[1]! - keys[0]! > 1_000_000, "a key frame is requested every two seconds");
    for (const kind of ["video", "audio"]) {
      const times = hub.packets.filter((packet) => packet.kind === kind).map(({ dts }) => dts);
      assert.ok(
        times.every((time, i) => i === 0 || time >= times[i - 1]!),
        `${kind} timestamps increase`,
      );
    }
    const sound = hub.packets.filter(({ kind }) => kind === "audio");
    t.diagnostic(
      `${pictures.length} frames, ${sound.length} audio packets, key frames at ${keys.map((us) => (us / 1e6).toFixed(2)).join(" ")}`,
    );
    assert.equal(await page.evaluate(`fetch(answer.location, { method: "DELETE" }).then(({ status }) => status)`), 200);
    await until("the publication ends", () => hub.ends.length > 0);
  });

  test("plays the broadcast of another browser", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    const answer = await play(page, hub.input.uid);
    assert.equal(answer.status, 201, answer.sdp);
    await until("frames are shown", () => page.evaluate("window.firstFrame !== undefined"));
    t.diagnostic(`first frame after ${Math.round((await page.evaluate("firstFrame")) as number)} ms`);
    await until("audio and video arrive", async () => {
      const { video, audio } = (await page.evaluate("received()")) as Record<
        string,
        { frames: number; samples: number }
      >;
      return (video?.frames ?? 0) > 30 && (audio?.samples ?? 0) > 48_000;
    });
    t.diagnostic(JSON.stringify(await page.evaluate("received()")));
  });

  test("is disconnected when its authorization is revoked, while other viewers stay connected even if the check is unavailable", async (t) => {
    const hub = createSmallHub();
    const access = { requested: 0, answer: async (): Promise<void> => {} };
    const { page, webrtc } = await open(t, hub, {
      reauthorizeMs: 20,
      async access(id) {
        access.requested++;
        await access.answer();
        return id;
      },
    });
    await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    assert.equal((await play(page, hub.input.uid)).status, 201);
    for (const err of [undefined, streamErrors.liveNotPublished(), new Error("database unavailable")]) {
      access.answer = async () => {
        if (err !== undefined) throw err;
      };
      const before = access.requested;
      await until("the access check ran two more times", () => access.requested > before + 2);
      assert.equal(webrtc.connections(), 2);
    }
    access.answer = () => Promise.reject(streamErrors.signedUrlNeeded());
    await until("the viewer is gone", () => webrtc.connections() === 1);
    const { requested } = access;
    assert.equal((await play(page, hub.input.uid)).status, 401);
    assert.equal(access.requested, requested + 1, "closed connections are not re-authorized");
  });

  test("is disconnected as soon as the input's access rules exclude it", async (t) => {
    const hub = createSmallHub();
    const access = { refused: false };
    let changed = () => {};
    const { page, webrtc } = await open(t, hub, {
      // Only the input change can trigger the check.
      reauthorizeMs: 2 ** 31 - 1,
      onInputChange: (listener) => ((changed = listener), () => {}),
      async access(id) {
        if (access.refused) throw streamErrors.signedUrlNeeded();
        return id;
      },
    });
    await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    assert.equal((await play(page, hub.input.uid)).status, 201);
    changed();
    assert.equal(webrtc.connections(), 2);
    access.refused = true;
    changed();
    await until("the viewer is gone", () => webrtc.connections() === 1);
  });

  test("counts as a viewer from connection to disconnection, and an offer alone does not count", async (t) => {
    const hub = createSmallHub();
    const viewers = new Set<string>();
    const seen: string[] = [];
    const { page, webrtc } = await open(t, hub, {
      onViewer(_input, { session }) {
        seen.push(session);
        viewers.add(session);
        return () => void viewers.delete(session);
      },
    });
    await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    // The browser never receives the answer, so it sends nothing.
    const played = await play(page, hub.input.uid, { way: true });
    assert.deepEqual([played.status, webrtc.connections(), viewers.size], [201, 2, 0]);
    await take(page, "viewer", played, portOf(played));
    await until("the viewer is counted", () => viewers.size === 1);
    assert.equal(
      await page.evaluate(
        `fetch(${JSON.stringify(played.location)}, { method: "DELETE" }).then(({ status }) => status)`,
      ),
      200,
    );
    assert.deepEqual([seen.length, viewers.size], [1, 0]);
  });

  test("publishes and plays audio alone", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    assert.equal((await publish(page, hub, { video: false })).status, 201);
    await until("the first packet", () => hub.packets.length > 0);
    assert.deepEqual(Object.keys(hub.tracks[0]!), ["audio"]);
    assert.equal((await play(page, hub.input.uid)).status, 201);
    await until(
      "audio arrives",
      async () =>
        (((await page.evaluate("received()")) as Record<string, { samples: number }>)["audio"]?.samples ?? 0) > 24_000,
    );
  });

  test("plays frames drawn a moment before", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    assert.equal((await publish(page, hub, { video: "clock" })).status, 201);
    await until("the first packet", () => hub.packets.length > 0);
    assert.equal(hub.tracks[0]!.audio, undefined);
    await play(page, hub.input.uid);
    await page.evaluate("readClock()");
    await until("the clock is read from frames", () => page.evaluate("latencies.length > 60"));
    const sorted = ((await page.evaluate("latencies.slice(20)")) as number[]).sort((a, b) => a - b);
    const at = (part: number) => sorted[Math.floor(sorted.length * part)];
    t.diagnostic(`canvas-to-canvas latency: median ${at(0.5)} ms, 95th percentile ${at(0.95)} ms`);
    // This verifies that the frames were really drawn and the result is not noise; it does not measure latency.
    assert.ok(at(0.5)! < 20_000);
  });

  test("retransmits lost packets in both directions", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    const published = await publish(page, hub, { way: true });
    const way = await startLossyRelay(t, portOf(published), 20);
    await take(page, "publisher", published, way.port);
    await until("the first packet", () => hub.packets.length > 0);
    const played = await play(page, hub.input.uid, { way: true });
    const back = await startLossyRelay(t, portOf(played), 20);
    await take(page, "viewer", played, back.port);
    await until("frames arrive", async () => (await framesOf(page)) > 40);
    const pictures = () => hub.packets.filter(({ kind }) => kind === "video");
    const sent = () => page.evaluate("sent()") as Promise<number>;
    // After an incomplete frame, all frames up to the next key frame are dropped. A busy machine may send a NACK too
    // late, so it suffices that 85 percent of the frames arrive once.
    let before = { sent: await sent(), came: pictures().length };
    await until("almost all of 60 or more consecutive frames arrive", async () => {
      const [of, came] = [(await sent()) - before.sent, pictures().length - before.came];
      if (of < 60) return false;
      if (came >= of * 0.85) return true;
      before = { sent: await sent(), came: pictures().length };
      return false;
    });
    t.diagnostic(
      `${way.lost()} packets from the publisher were dropped and ${hub.lost()} never arrived; of ${pictures().length} frames ${pictures().filter(({ key }) => key).length} are key frames`,
    );
    t.diagnostic(
      `${back.lost()} packets to the viewer were dropped: ${JSON.stringify(await page.evaluate("received()"))}`,
    );
    assert.ok(way.lost() > 5);
  });

  test("stays connected when other clients send to its port", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    const published = await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    await sendInvalidDatagrams(portOf(published), 3000);
    const count = hub.packets.length;
    await until("packets continue to arrive", () => hub.packets.length > count + 50);
    // The datagrams fill the socket buffer, so that a consent check may be lost and repeated (RFC 7675 5.1).
    await until("connected", async () => (await page.evaluate("publisher.connectionState")) === "connected");
    assert.deepEqual(hub.ends, []);
  });

  test("restarts ICE by PATCH, and video continues", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    const { etag } = await publish(page, hub);
    await until("the first packet", () => hub.packets.length > 0);
    const status = (await page.evaluate(`(async () => {
      const offer = await publisher.createOffer({ iceRestart: true });
      await publisher.setLocalDescription(offer);
      const pick = (name, sdp) => sdp.match(new RegExp("a=" + name + ":([^ \\r\\n]+)"))[1];
      const body = ["a=ice-ufrag:" + pick("ice-ufrag", offer.sdp), "a=ice-pwd:" + pick("ice-pwd", offer.sdp), ""].join("\\r\\n");
      const response = await fetch(answer.location, { method: "PATCH", headers: { "content-type": "application/trickle-ice-sdpfrag", "if-match": "*" }, body });
      const fragment = await response.text();
      const lines = fragment.split("\\r\\n").filter((line) => line.startsWith("a=candidate:"));
      const sdp = answer.sdp.replaceAll(/a=ice-ufrag:.*/g, "a=ice-ufrag:" + pick("ice-ufrag", fragment)).replaceAll(/a=ice-pwd:.*/g, "a=ice-pwd:" + pick("ice-pwd", fragment))
        .replaceAll(/a=candidate:.*\\r\\n/g, "").replace(/(a=mid:0\\r\\n)/, "$1" + lines.map((line) => line + "\\r\\n").join(""));
      await publisher.setRemoteDescription({ type: "answer", sdp });
      return [response.status, response.headers.get("etag")];
    })()`)) as [number, string];
    assert.equal(status[0], 200);
    assert.notEqual(status[1], etag);
    const count = hub.packets.length;
    await until("packets continue to arrive", () => hub.packets.length > count + 100);
    assert.equal(await page.evaluate("publisher.connectionState"), "connected");
    assert.deepEqual(hub.ends, []);
  });

  test("publishes and plays VP8 with an offer from the server, and a viewer stays connected while the publisher reconnects", async (t) => {
    const hub = createSmallHub();
    const { page } = await open(t, hub);
    await publish(page, hub, { codec: "video/VP8" });
    await until("the first packet", () => hub.packets.length > 0);
    assert.deepEqual([hub.tracks[0]!.video?.codec, hub.tracks[0]!.video?.width], ["vp8", 320]);
    await page.evaluate(`(async () => {
      const pc = window.viewer = new RTCPeerConnection();
      const element = document.querySelector("video");
      element.srcObject = new MediaStream();
      pc.ontrack = ({ track }) => element.srcObject.addTrack(track);
      const response = await post("/${hub.input.uid}/webRTC/play", "");
      window.played = { status: response.status, location: response.headers.get("location") };
      await pc.setRemoteDescription({ type: "offer", sdp: await response.text() });
      await pc.setLocalDescription(await pc.createAnswer());
      played.patched = (await fetch(played.location, { method: "PATCH", headers: { "content-type": "application/sdp" }, body: pc.localDescription.sdp })).status;
    })()`);
    assert.deepEqual(await page.evaluate("[played.status, played.patched]"), [201, 204]);
    const restart = `fetch(played.location, { method: "PATCH", headers: { "content-type": "application/trickle-ice-sdpfrag" }, body: "a=ice-ufrag:other\\r\\na=ice-pwd:0123456789abcdefghijkl\\r\\n" })`;
    assert.equal(await page.evaluate(`${restart}.then(({ status }) => status)`), 400);
    await until("frames arrive", async () => (await framesOf(page)) > 20);
    await page.evaluate(`fetch(answer.location, { method: "DELETE" })`);
    await until("the publication ends", () => hub.ends.length === 1);
    const before = await framesOf(page);
    await publish(page, hub, { codec: "video/VP8" });
    await until("frames continue to arrive", async () => (await framesOf(page)) > before + 20);
    assert.equal(await page.evaluate("viewer.connectionState"), "connected");
  });

  for (const [what, options] of [
    ["H.264 and AAC as OBS sends them over RTMP", ["-bf", "0"]],
    ["B-frames", ["-preset", "veryfast", "-bf", "2"]],
  ] as const) {
    test(`plays ${what}`, needsFfmpeg, async (t) => {
      const file = await readFile(
        await clip({ seconds: 20, fps: "25", extension: "flv", video: [...X264, "-profile:v", "main", ...options] }),
      );
      const log = createLog({ level: "silent" });
      const tools = createMediaTools({
        settings: { ffmpeg: "", ffprobe: "", sandbox: "auto", user_id: 70_000, encoders: 0, urgent_encoders: 0 },
        log,
      });
      const hub = createSmallHub();
      const { page } = await open(t, hub, { transcoder: createTranscoder({ tools, log }) });
      const control = new AbortController();
      t.after(tools.close);
      t.after(() => control.abort());
      const published = publishInRealTime(hub, readFlv(file), control.signal);
      await until("one second has been published", () => (hub.packets.at(-1)?.dts ?? 0) > 1_000_000);
      const answer = await play(page, hub.input.uid);
      assert.equal(answer.status, 201, answer.sdp);
      await until("frames are shown", () => page.evaluate("window.firstFrame !== undefined"));
      t.diagnostic(`first frame after ${Math.round((await page.evaluate("firstFrame")) as number)} ms`);
      await until("audio and video arrive", async () => {
        const { video, audio } = (await page.evaluate("received()")) as Record<
          string,
          { frames: number; samples: number }
        >;
        return (video?.frames ?? 0) > 40 && (audio?.samples ?? 0) > 48_000;
      });
      t.diagnostic(JSON.stringify(await page.evaluate("received()")));
      control.abort();
      await published;
    });
  }
});
