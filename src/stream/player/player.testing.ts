import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { clip } from "../../../test/support/media.ts";
import { createLog } from "../../kernel/index.ts";
import type { DeliveryRoute, Viewing } from "../delivery/route.ts";
import { streamErrors } from "../errors.ts";
import type { Video } from "../videos/video.ts";
import { createAssets } from "./assets.ts";
import type { FakeLive } from "./live.testing.ts";
import { type Player, createPlayer } from "./player.ts";

const run = promisify(execFile);

/** A video as its row would be, ready to be played. */
export const someVideo = (change: Partial<Video> = {}): Video => ({
  uid: "0123456789abcdef0123456789abcdef",
  account: "a".repeat(32),
  creator: null,
  state: "ready",
  pctComplete: 100,
  meta: {},
  created: 0,
  modified: 0,
  uploaded: 0,
  readyToStream: true,
  readyToStreamAt: 0,
  scheduledDeletion: null,
  size: 1,
  allowedOrigins: [],
  requireSignedURLs: false,
  uploadExpiry: null,
  maxSizeBytes: null,
  maxDurationSeconds: null,
  duration: 12,
  input: { width: 640, height: 360 },
  thumbnailTimestampPct: 0,
  watermark: null,
  publicDetails: { title: null, share_link: null, channel_link: null, logo: null },
  sourceKey: null,
  model: null,
  ...change,
});

export interface StaticDelivery {
  origin: string;
  player: Player;
  videos: Map<string, Video>;
  /** Answers in place of files: by path below `/{id}/`, or with the id before it. */
  overrides: Map<string, { status: number; body?: string | Buffer; type?: string }>;
  /** Inputs that somebody publishes to: all, unless a test says otherwise. */
  unpublished: Set<string>;
  /** Inputs of which nothing is kept. */
  unrecorded: Set<string>;
  /** By input. */
  lives: Map<string, FakeLive>;
  requests: { path: string; request: IncomingMessage }[];
  close(): Promise<void>;
}

/** A small delivery of its own: pages by the real player, and one static HLS that ffmpeg made for every video; `lives` for those that are broadcast. */
export async function startStaticDelivery({ base = "" }: { base?: string } = {}): Promise<StaticDelivery> {
  const folder = await staticHls();
  const videos = new Map<string, Video>();
  const requests: StaticDelivery["requests"] = [];
  const overrides: StaticDelivery["overrides"] = new Map();
  const unpublished: StaticDelivery["unpublished"] = new Set();
  const unrecorded: StaticDelivery["unrecorded"] = new Set();
  const lives: StaticDelivery["lives"] = new Map();
  const log = createLog({ level: "silent" });
  const player = createPlayer({
    base,
    log,
    assets: sharedAssets,
    address: () => "127.0.0.1",
    origin: (request) => `http://${request.headers.host}`,
    isPublished: async (input) => !unpublished.has(input),
    isRecorded: async (input) => !unrecorded.has(input),
    access: {
      async check(id) {
        const video = videos.get(id);
        if (video === undefined) throw streamErrors.videoNotFound({ uid: id });
        if (video.requireSignedURLs && id === video.uid) throw streamErrors.signedUrlNeeded();
        return video;
      },
    },
  });
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (await player.handle(request, response)) return;
    const [id = "", ...rest] = url.pathname.slice(base.length + 1).split("/");
    const path = rest.join("/");
    requests.push({ path, request });
    const video = videos.get(id);
    const override = overrides.get(path) ?? overrides.get(`${id}/${path}`);
    if (override !== undefined)
      return response
        .writeHead(override.status, {
          "content-type": override.type ?? "text/plain",
          "access-control-allow-origin": "*",
        })
        .end(override.body);
    if (video === undefined) return response.writeHead(404).end();
    const live = video.liveInput === undefined ? undefined : lives.get(video.liveInput);
    // Its own playlists stay when it is over, and what plays it anew plays the recording.
    if (
      (video.state === "live-inprogress" || !path.startsWith("manifest/video")) &&
      (await live?.handle(path, url, response)) === true
    )
      return;
    const route = player.delivery.find((one) => one.path === path);
    if (route !== undefined)
      return answer(route, {
        video,
        id,
        base,
        origin: `http://${request.headers.host}`,
        params: {},
        query: url.searchParams,
        viewer: { ip: "127.0.0.1" },
        request,
        response,
      });
    const file = path.replace(/^(manifest|segments|thumbnails)\//, "");
    const body = /^[\w.-]+$/.test(file) ? await readFile(join(folder, file)).catch(() => undefined) : undefined;
    if (body === undefined) return response.writeHead(404).end();
    response
      .writeHead(200, {
        "content-type": TYPES[file.split(".").pop() ?? ""] ?? "video/mp4",
        "content-length": body.length,
        "access-control-allow-origin": "*",
      })
      .end(body);
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    player,
    videos,
    requests,
    overrides,
    unpublished,
    unrecorded,
    lives,
    async close() {
      await stop(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Until the expression is true in the page, for at most a minute. As text: our pages forbid to make code of text, so that Playwright's own waiting fails in them, and the types of a browser are not here. */
export async function until(page: Pick<Page, "evaluate">, expression: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await setTimeout(25)) {
    if ((await page.evaluate(`Boolean(${expression})`)) === true) return;
  }
  throw new Error(`not within a minute: ${expression}`);
}

/** Bundled once for a whole file of tests. */
export const sharedAssets = createAssets({ log: createLog({ level: "silent" }) });

const TYPES: Record<string, string> = { m3u8: "application/vnd.apple.mpegurl", vtt: "text/vtt", jpg: "image/jpeg" };

function answer(route: DeliveryRoute, rest: Omit<Viewing, "signal" | "sendObject" | "sendText">): Promise<void> {
  return route.handle({
    ...rest,
    signal: new AbortController().signal,
    sendText(text, { type, status = 200 }) {
      rest.response.writeHead(status, { "content-type": type, "access-control-allow-origin": "*" }).end(text);
    },
    async sendObject() {
      throw new Error("no objects here");
    },
  });
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((done) => void server.close(() => done()));
}

/** Two qualities, two sounds and two languages, 12 s; a poster and a storyboard. */
async function staticHls(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-player-"));
  const source = await clip({ seconds: 12, size: "640x360", fps: "25" });
  const ffmpeg = (...args: string[]) => run("ffmpeg", ["-v", "error", "-y", "-i", source, ...args], { cwd: folder });
  const hls = (name: string, ...args: string[]) =>
    ffmpeg(
      ...args,
      "-f",
      "hls",
      "-hls_time",
      "4",
      "-hls_playlist_type",
      "vod",
      "-hls_segment_type",
      "fmp4",
      "-hls_fmp4_init_filename",
      `${name}-init.mp4`,
      "-hls_segment_filename",
      `${name}-%d.m4s`,
      `${name}.m3u8`,
    );
  await Promise.all([
    hls("high", "-map", "0:v", "-c", "copy"),
    hls(
      "low",
      "-map",
      "0:v",
      "-vf",
      "scale=320:180",
      "-c:v",
      "libx264",
      "-preset",
      "ultrafast",
      "-pix_fmt",
      "yuv420p",
      "-b:v",
      "200k",
      "-g",
      "50",
    ),
    hls("sound", "-map", "0:a", "-c", "copy"),
    ffmpeg("-frames:v", "1", "thumbnail.jpg"),
    ffmpeg("-vf", "fps=1,scale=160:90,tile=4x3", "-frames:v", "1", "storyboard-0.jpg"),
    writeFile(join(folder, "en.vtt"), "WEBVTT\n\n00:00.000 --> 00:12.000\nA caption in English\n"),
    writeFile(join(folder, "de.vtt"), "WEBVTT\n\n00:00.000 --> 00:12.000\nEin deutscher Untertitel\n"),
    ...["en", "de"].map((language) =>
      writeFile(
        join(folder, `text-${language}.m3u8`),
        `#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:12\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:12,\n${language}.vtt\n#EXT-X-ENDLIST\n`,
      ),
    ),
    writeFile(
      join(folder, "storyboard.vtt"),
      `WEBVTT\n${Array.from({ length: 12 }, (_, n) => `\n${clock(n)} --> ${clock(n + 1)}\nstoryboard-0.jpg#xywh=${(n % 4) * 160},${Math.floor(n / 4) * 90},160,90\n`).join("")}`,
    ),
    writeFile(
      join(folder, "video.m3u8"),
      `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Original",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="sound.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Commentary",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="sound.m3u8?commentary"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,URI="text-en.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,URI="text-de.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180,CODECS="avc1.42c00c,mp4a.40.2",AUDIO="sound",SUBTITLES="text"
low.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=640x360,CODECS="avc1.42c01e,mp4a.40.2",AUDIO="sound",SUBTITLES="text"
high.m3u8
`,
    ),
  ]);
  return folder;
}

const clock = (seconds: number) =>
  `00:${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}.000`;
