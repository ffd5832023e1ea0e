// Covers everything from an interrupted upload to the last frame in a browser, configured as in production.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import * as tus from "tus-js-client";
import { until } from "../../src/stream/player/player.testing.ts";
import { clientFile, openBrowser, openPage, openSite, withoutChromium } from "../support/browser.ts";
import { clip, countFrames, needsFfmpeg } from "../support/media.ts";
import { createScope } from "./platform.ts";
import { bundleReactApp, reactPages } from "./react-page.ts";
import { startVideoPlatform, type ShownVideo, type VideoPlatform } from "./video-platform.ts";

const MIB = 1024 * 1024;
const FRAMES = 180;

const PAGE = `<!doctype html><video muted></video><script src="/hls.js"></script><script>
  const video = document.querySelector("video");
  async function play(url) {
    const problems = [];
    const hls = new Hls({ enableWorker: false });
    // A busy machine stalls the player, and a rendition switch aborts the load in progress: neither is an error.
    hls.on(Hls.Events.ERROR, (_name, { type, details, error }) => /^(aborted|buffer(StalledError|NudgeOnStall))$/.test(details) || problems.push(type + " " + details + " " + error?.message));
    hls.loadSource(url);
    hls.attachMedia(video);
    const ended = new Promise((resolve) => video.addEventListener("ended", resolve));
    await video.play();
    video.playbackRate = 2;
    await ended;
    return { problems, at: video.currentTime, duration: video.duration, levels: hls.levels.map(({ height }) => height), frames: video.getVideoPlaybackQuality().totalVideoFrames };
  }
</script>`;

const missing =
  !existsSync(clientFile("hls.js")) &&
  process.env["REQUIRE_ALL"] !== "1" &&
  "the clients of the tests are not installed";

describe("a video through the whole server", { skip: needsFfmpeg.skip || withoutChromium() || missing }, () => {
  const scope = createScope();
  let platform: VideoPlatform;
  let browser: Browser;
  let account_id: string;
  let bytes: Buffer;
  let video: ShownVideo;
  before(async () => {
    const [path] = await Promise.all([
      clip({ seconds: 6, size: "640x360" }),
      startVideoPlatform(scope).then((started) => (platform = started)),
      openBrowser(scope).then((opened) => (browser = opened)),
    ]);
    account_id = platform.account;
    // A `free` box, which readers skip (ISO 14496-12 8.1.2): large enough to interrupt the upload within it, with
    // nothing to encode.
    const free = Buffer.alloc(6 * MIB);
    free.writeUInt32BE(free.length);
    free.write("free", 4);
    bytes = Buffer.concat([await readFile(path), free]);
  });
  after(async () => {
    await scope.close();
    assert.deepEqual(platform.problems, []);
  });

  interface Uploaded {
    uid: string;
    requests: { method: string; status: number; offset: number }[];
  }
  /** Uploads with the real client. `line`: the origin that receives the data, if different. */
  const upload = (options: tus.UploadOptions, line?: string): Promise<Uploaded> =>
    new Promise((resolve, reject) => {
      const requests: Uploaded["requests"] = [];
      let uid: string | undefined;
      const upload = new tus.Upload(bytes, {
        chunkSize: 5 * MIB,
        retryDelays: [50, 200, 1000, 5000],
        ...options,
        onUploadUrlAvailable: () => void (line !== undefined && (upload.url = upload.url!.replace(platform.url, line))),
        onAfterResponse(request, response) {
          uid ??= response.getHeader("stream-media-id");
          requests.push({
            method: request.getMethod(),
            status: response.getStatus(),
            offset: Number(response.getHeader("upload-offset")),
          });
        },
        onError: reject,
        onSuccess: () => resolve({ uid: uid!, requests }),
      });
      upload.start();
    });

  /** Starts a proxy to the server that cuts one connection after a number of bytes. Resolves with its origin. */
  async function cutAfter(octets: number): Promise<string> {
    let [passed, whole] = [0, true];
    const open = new Set<Socket>();
    const server = createServer((near) => {
      const far = connect(Number(new URL(platform.url).port), "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(from);
        from.on("error", () => to.destroy()).on("close", () => (open.delete(from), to.destroy()));
      }
      near.on("data", (part) => {
        passed += part.length;
        far.write(part);
        if (passed < octets || !whole) return;
        whole = false;
        near.resetAndDestroy();
      });
      far.pipe(near);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    scope.after(async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("an upload resumes after its connection breaks, and then the video plays", async () => {
    const { uid, requests } = await upload(
      {
        endpoint: `${platform.api}/accounts/${account_id}/stream`,
        headers: { Authorization: `Bearer ${platform.token}` },
        metadata: { name: "Holiday", filetype: "video/mp4" },
      },
      await cutAfter(5.5 * MIB),
    );
    const made = requests.map(({ method, status }) => `${method} ${status}`);
    assert.deepEqual([...made.slice(0, 2), made.at(-1)], ["POST 201", "PATCH 204", "PATCH 204"], made.join());
    // Each attempt to resume begins with HEAD. The first one may be too early: the broken request holds the lock until
    // its data is stored (423).
    const resumed = requests.slice(2, -1);
    assert.ok(
      resumed.length > 0 && made.slice(2, -1).every((request) => /^HEAD (200|423)$/.test(request)),
      made.join(),
    );
    assert.ok(resumed.at(-1)!.offset >= 5 * MIB, `resumed at ${resumed.at(-1)!.offset}`);
    video = await platform.playable(uid);
    assert.deepEqual(
      [video.size, video.duration, video.input, video.meta],
      [bytes.length, 6, { width: 640, height: 360 }, { name: "Holiday", filetype: "video/mp4" }],
    );
  });

  it("a creator without a token uploads to a one-time URL that a server requested", async () => {
    const created: Response = await platform.client.stream
      .create({
        account_id,
        direct_user: true,
        "Tus-Resumable": "1.0.0",
        "Upload-Length": bytes.length,
        "Upload-Metadata": `maxDurationSeconds ${btoa("60")}, requiresignedurls`,
      })
      .asResponse();
    const { requests } = await upload({ uploadUrl: created.headers.get("location")! });
    assert.deepEqual(
      requests.map(({ method }) => method),
      ["HEAD", "PATCH", "PATCH"],
    );
    const made = await platform.playable(created.headers.get("stream-media-id")!);
    assert.equal(made.requireSignedURLs, true);
    assert.equal((await fetch(made.playback.hls)).status, 401);
  });

  it("hls.js plays it to the end in Chromium on a different site", async () => {
    const site = await openSite(scope, {
      "/": { type: "text/html", body: PAGE },
      "/hls.js": { type: "text/javascript", file: clientFile("hls.js/dist/hls.js") },
    });
    const { page, problems } = await openPage(browser, site);
    const played = (await page.evaluate(`play(${JSON.stringify(video.playback.hls)})`)) as {
      problems: string[];
      at: number;
      duration: number;
      levels: number[];
      frames: number;
    };
    await page.context().close();
    assert.deepEqual([...played.problems, ...problems], []);
    assert.ok(played.at > 5.9 && Math.abs(played.duration - 6) < 0.05, JSON.stringify(played));
    assert.deepEqual([Math.min(...played.levels), Math.max(...played.levels)], [240, 360]);
    assert.ok(played.frames > FRAMES / 2, `${played.frames} frames`);
  });

  it("@cloudflare/stream-react plays it to the end, with one line added to the page", async () => {
    const site = await openSite(
      scope,
      reactPages(await bundleReactApp(), `${platform.url}/embed/local.js`, {
        src: video.uid,
        controls: true,
        muted: true,
        autoplay: true,
      }),
    );
    const { page, problems } = await openPage(browser, site);
    await until(page, 'received.includes("Playing")');
    await page.evaluate("setProps({ currentTime: 4, playbackRate: 2 })");
    await until(page, 'received.includes("Ended")');
    assert.deepEqual(
      await page.evaluate(
        "[Math.round(streamRef.current.duration * 1000) / 1000, streamRef.current.videoWidth, received.includes('Seeked'), received.includes('Error')]",
      ),
      [6, 640, true, false],
    );
    await page.context().close();
    assert.deepEqual(problems, []);
  });

  const words = (program: string, args: string[]) =>
    promisify(execFile)(program, ["-hide_banner", "-loglevel", "warning", ...args], { timeout: 60_000 });

  it("ffprobe and ffmpeg read both manifests of the completed video without a warning, and find every frame", async () => {
    await platform.ready(video.uid);
    for (const manifest of [video.playback.hls, video.playback.dash]) {
      const probed = await words("ffprobe", ["-show_entries", "stream=codec_name,width", "-of", "json", manifest]);
      assert.equal(probed.stderr, "", manifest);
      const { streams } = JSON.parse(probed.stdout) as { streams: { codec_name: string; width?: number }[] };
      const widths = streams.flatMap(({ width }) => width ?? []);
      assert.ok(
        widths.includes(426) && widths.includes(640) && streams.some(({ codec_name: codec }) => codec === "aac"),
        probed.stdout,
      );
      for (const n of widths.keys()) {
        const decoded = await words("ffmpeg", ["-nostdin", "-i", manifest, "-map", `0:v:${n}`, "-f", "framecrc", "-"]);
        assert.equal(decoded.stderr, "", manifest);
        assert.equal(
          decoded.stdout.split("\n").filter((line) => line.startsWith("0,")).length,
          FRAMES,
          `${manifest}, rung ${n}`,
        );
      }
    }
  });

  it("the concatenated segments of every rung contain exactly the frames of the source", async () => {
    const folder = await mkdtemp(join(tmpdir(), "reelpost-rungs-"));
    scope.after(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "source.mp4"), bytes);
    assert.equal(await countFrames(join(folder, "source.mp4")), FRAMES);
    const text = async (url: URL | string) => (await fetch(url)).text();
    const rungs = (await text(video.playback.hls)).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    assert.ok(rungs.length >= 2, rungs.join());
    for (const rung of rungs) {
      const playlist = new URL(rung, video.playback.hls);
      const lines = (await text(playlist)).split("\n");
      const init = /URI="([^"]+)"/.exec(lines.find((line) => line.startsWith("#EXT-X-MAP:"))!)![1]!;
      const parts = await Promise.all(
        [init, ...lines.filter((line) => line !== "" && !line.startsWith("#"))].map(async (name) =>
          Buffer.from(await (await fetch(new URL(name, playlist))).arrayBuffer()),
        ),
      );
      await writeFile(join(folder, "rung.mp4"), Buffer.concat(parts));
      assert.equal(await countFrames(join(folder, "rung.mp4")), FRAMES, rung);
    }
  });
});
