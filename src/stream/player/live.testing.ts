import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { clip } from "../../../test/support/media.ts";

export interface FakeBroadcasts {
  /** Returns a new broadcast that has not started. */
  broadcast(): FakeBroadcast;
}

/** A broadcast as low-latency HLS (RFC 8216bis), from prepared parts that become available over time. */
export interface FakeBroadcast {
  /** Begins the broadcast as if it had already been running for this many seconds. At most `LENGTH_S` are delivered. */
  begin(behind?: number): void;
  /** Pauses the stream; `resume` continues it from the same position. */
  interrupt(): void;
  resume(): void;
  /** Adds the end mark to the playlist. */
  end(): void;
  /** False if the path is unknown. The path is relative to `/{id}/`. */
  handle(path: string, url: URL, response: ServerResponse): Promise<boolean>;
}

const LENGTH_S = 60;
const PART_S = 0.5;
const PARTS = 4;
/** Duration of a segment in seconds. */
export const SEGMENT_S = PART_S * PARTS;
/** Segments in a playlist without DVR. */
const WINDOW = 6;
const HLS = "application/vnd.apple.mpegurl";

export async function createFakeBroadcasts(): Promise<FakeBroadcasts> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-live-"));
  const source = await clip({ seconds: LENGTH_S, size: "320x180", fps: "24", keyframeSeconds: PART_S });
  await promisify(execFile)(
    "ffmpeg",
    [
      "-v",
      "error",
      "-y",
      "-i",
      source,
      "-c",
      "copy",
      "-f",
      "hls",
      "-hls_time",
      String(PART_S / 2),
      "-hls_list_size",
      "0",
      "-hls_segment_type",
      "fmp4",
      "-hls_fmp4_init_filename",
      "init.mp4",
      "-hls_segment_filename",
      "%d.m4s",
      "list.m3u8",
    ],
    { cwd: folder },
  );
  const files = (await readdir(folder)).filter((name) => name.endsWith(".m4s"));
  const pieces = await Promise.all(files.map((_, n) => readFile(join(folder, `${n}.m4s`))));
  const init = await readFile(join(folder, "init.mp4"));
  await rm(folder, { recursive: true, force: true });
  return { broadcast: () => createFakeLive(init, pieces) };
}

function createFakeLive(init: Buffer, pieces: readonly Buffer[]): FakeBroadcast {
  let begun = 0;
  let stopped: number | undefined;
  let ended = false;
  /**
   * Parts that a playlist has listed remain available, even if the final playlist omits them: a player may be about to
   * load one.
   */
  let listed = 0;

  const partsNow = () =>
    Math.min(pieces.length, Math.floor(((stopped ?? performance.now()) - begun) / (PART_S * 1000)));

  function media(dvr: boolean): string {
    const parts = partsNow();
    listed = Math.max(listed, parts);
    const whole = Math.floor(parts / PARTS);
    const first = dvr ? 0 : Math.max(0, whole - WINDOW);
    const lines = [
      "#EXTM3U",
      "#EXT-X-VERSION:9",
      "#EXT-X-TARGETDURATION:2",
      `#EXT-X-PART-INF:PART-TARGET=${PART_S}`,
      `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${3 * PART_S}`,
      `#EXT-X-MEDIA-SEQUENCE:${first}`,
      '#EXT-X-MAP:URI="../segments/init.mp4"',
    ];
    for (let n = first; n * PARTS < parts; n++) {
      if (n >= whole - 2)
        for (let part = 0; part < Math.min(PARTS, parts - n * PARTS); part++)
          lines.push(`#EXT-X-PART:DURATION=${PART_S},INDEPENDENT=YES,URI="../segments/${n}.${part}.m4s"`);
      if (n < whole) lines.push(`#EXTINF:${PART_S * PARTS},`, `../segments/${n}.m4s`);
    }
    if (ended) lines.push("#EXT-X-ENDLIST");
    else lines.push(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="../segments/${whole}.${parts % PARTS}.m4s"`);
    return `${lines.join("\n")}\n`;
  }

  /** Responds when this many parts exist, or after five seconds (three target durations in RFC 8216bis 6.2.5.2). */
  async function arrival(parts: number, response: ServerResponse): Promise<void> {
    const isOver = () => ended || response.closed;
    for (const deadline = performance.now() + 5000; partsNow() < parts && !isOver() && performance.now() < deadline;)
      await setTimeout(20);
  }

  return {
    begin(behind = 0) {
      begun = performance.now() - behind * 1000;
      stopped = undefined;
      ended = false;
      listed = 0;
    },
    interrupt: () => void (stopped = performance.now()),
    resume() {
      begun += performance.now() - (stopped ?? performance.now());
      stopped = undefined;
    },
    end() {
      // Keeps only whole segments, as a packager does.
      const parts = partsNow();
      stopped = begun + Math.floor(parts / PARTS) * PARTS * PART_S * 1000;
      ended = true;
    },
    async handle(path, url, response) {
      const send = (type: string, body: string | Buffer, status = 200) => {
        response.writeHead(status, { "content-type": type, "access-control-allow-origin": "*" }).end(body);
        return true;
      };
      const dvr = url.searchParams.get("dvrEnabled") === "true";
      if (path === "manifest/video.m3u8")
        return send(
          HLS,
          `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=320x180,CODECS="avc1.42c00d,mp4a.40.2"\nsource.m3u8${dvr ? "?dvrEnabled=true" : ""}\n`,
        );
      if (path === "manifest/source.m3u8") {
        const [msn, part] = ["_HLS_msn", "_HLS_part"].map((name) => url.searchParams.get(name));
        if (msn != null)
          await arrival(part == null ? (Number(msn) + 1) * PARTS : Number(msn) * PARTS + Number(part) + 1, response);
        return send(HLS, media(dvr));
      }
      if (path === "segments/init.mp4") return send("video/mp4", init);
      const [, n, part] = /^segments\/(\d+)(?:\.(\d+))?\.m4s$/.exec(path) ?? [];
      if (n === undefined) return false;
      const from = Number(n) * PARTS + Number(part ?? 0);
      const to = part === undefined ? from + PARTS : from + 1;
      await arrival(to, response);
      return Math.max(partsNow(), listed) < to
        ? send("text/plain", "", 404)
        : send("video/mp4", Buffer.concat(pieces.slice(from, to)));
    },
  };
}
