import type { MediaTools } from "../media/index.ts";
import type { FileDescription, ProbeRunOptions } from "./describe.ts";
import type { Scan } from "./index-scan.ts";
import { isFileError, malformedFileError } from "./refused.ts";
import { createTrackScanner } from "./track-scan.ts";
import type { ChosenTracks } from "./tracks.ts";

/** More than a day at 120 frames per second with audio. */
const MAX_PACKETS = 20_000_000;
const MAX_LINE_LENGTH = 4096;
/** Minimum disk throughput assumed for timeouts. */
const OCTETS_PER_MS = 20_000;

/** Reads every packet of the file once, without decoding. Throws ProbeRejected if it cannot be read. */
export async function scanPackets(
  tools: MediaTools,
  path: string,
  size: number,
  { start: startTime }: FileDescription,
  { video, audio }: ChosenTracks,
  options: ProbeRunOptions,
): Promise<Scan> {
  const scanners = new Map(
    [video, audio].filter((stream) => stream !== undefined).map((stream) => [stream.index, createTrackScanner()]),
  );
  let packets = 0;
  const lines = byLine((line) => {
    if (++packets > MAX_PACKETS) throw malformedFileError("It has too many packets.");
    addLine(scanners, line);
  });
  const args = ["-show_entries", "packet=stream_index,pts,dts,duration,size,flags", "-of", "csv=p=0", "-i", path];
  const wallMs = 60_000 + size / OCTETS_PER_MS;
  await tools
    .ffprobe({ args, reads: [path], wallMs, cpuSeconds: wallMs / 1000, onOutput: lines, ...options })
    .catch((err: unknown) => {
      // Data read before the error is used.
      if (!isFileError(err)) throw err;
    });
  const scanOf = (stream: ChosenTracks["video"]) =>
    stream && scanners.get(stream.index)!.result(stream.tick, startTime);
  const [videoScan, audioScan] = [scanOf(video), scanOf(audio)];
  return { ...(videoScan && { video: videoScan }), ...(audioScan && { audio: audioScan }), indexed: false };
}

type Scanners = ReadonlyMap<number, ReturnType<typeof createTrackScanner>>;

/** `<stream>,<pts>,<dts>,<duration>,<size>,<flags>`, each a number or N/A. */
function addLine(scanners: Scanners, line: string): void {
  const [stream, pts, dts, duration, size, flags = ""] = line.split(",");
  const scanner = scanners.get(Number(stream));
  // Flag D: decoded because of an edit list, but not shown.
  if (scanner === undefined || flags[1] === "D") return;
  const [presentationTime, decodeTime] = [Number(pts), Number(dts)];
  if (Number.isNaN(presentationTime) && Number.isNaN(decodeTime)) return;
  scanner.add({
    pts: Number.isNaN(presentationTime) ? decodeTime : presentationTime,
    dts: Number.isNaN(decodeTime) ? undefined : decodeTime,
    duration: Number(duration) || 0,
    octets: Number(size) || 0,
    key: flags[0] === "K",
  });
}

function byLine(handleLine: (line: string) => void): (chunk: Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop()!.slice(-MAX_LINE_LENGTH);
    for (const line of lines) if (line !== "") handleLine(line);
  };
}
