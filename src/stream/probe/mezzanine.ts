import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Ids, randomIds } from "../../kernel/index.ts";
import type { ObjectStore } from "../../store/index.ts";
import type { MediaTools } from "../media/index.ts";
import { createScratch } from "../scratch.ts";
import type { FileDescription, ProbeRunOptions, StreamDescription } from "./describe.ts";
import { isInterlaced } from "./geometry.ts";
import { isFileError, malformedFileError } from "./refused.ts";
import type { ChosenTracks } from "./tracks.ts";

/** Containers in which seeking reads everything up to the position, or estimates it. */
const FORMATS_WITHOUT_INDEX = new Set([
  "mpegts",
  "mpeg",
  "avi",
  "flv",
  "ogg",
  "asf",
  "gxf",
  "lxf",
  "gif",
  "mp3",
  "aac",
]);
/** Recorded in a browser: the file has neither a duration nor an index. */
const isRecording = ({ format, duration }: FileDescription) => format === "matroska" && duration === undefined;

const MP4_VIDEO = new Set(["h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2video", "mpeg1video"]);
const MP4_AUDIO = new Set(["aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"]);
const MATROSKA_VIDEO = new Set([
  "vp8",
  "theora",
  "mjpeg",
  "ffv1",
  "prores",
  "dvvideo",
  "huffyuv",
  "wmv1",
  "wmv2",
  "wmv3",
  "vc1",
  "flv1",
  "msmpeg4v3",
  "msmpeg4v2",
]);
const MATROSKA_AUDIO = new Set([
  "vorbis",
  "mp2",
  "pcm_s16le",
  "pcm_s16be",
  "pcm_s24le",
  "pcm_s32le",
  "pcm_f32le",
  "pcm_u8",
  "dts",
  "truehd",
  "wmav2",
  "wmav1",
]);

interface MezzanineDeps {
  tools: MediaTools;
  objects: Pick<ObjectStore, "put" | "delete">;
  /** Default: random. */
  ids?: Pick<Ids, "hex">;
  /** Folder for temporary files; they are as large as uploads. */
  folder: string;
}

/** Minimum disk throughput assumed for timeouts, in bytes per millisecond. */
const OCTETS_PER_MS = 10_000;
const MAX_ENCODE_MS = 6 * 3_600_000;
const MAX_COPY_SIZE_RATIO = 1.5;

export const needsMezzanine = (description: FileDescription): boolean =>
  FORMATS_WITHOUT_INDEX.has(description.format) || isRecording(description);

type MezzanineMode = "copy" | "encode";

/** Returns the key prefix of indexed copies. `folder`: the uid of the video, or `<uid>/tracks/<track>`. */
export const mezzaninePrefix = (folder: string): string => `stream/${folder}/mezzanine`;

/**
 * Creates a file with the same video and audio and an index. Streams are copied if a container supports the codecs, and
 * otherwise (or if `mode` requires it) encoded at visually lossless quality. Resolves with the object key,
 * `stream/<uid>/mezzanine.<attempt>.<container>`, which differs for each attempt, because concurrent attempts produce
 * different bytes. Throws ProbeRejected.
 */
export async function createMezzanine(
  { tools, objects, ids = randomIds, folder }: MezzanineDeps,
  uid: string,
  path: string,
  size: number,
  tracks: ChosenTracks,
  options: ProbeRunOptions,
  mode: MezzanineMode = "copy",
): Promise<string> {
  const { path: workPath, remove } = await createScratch(folder).create("mezzanine");
  try {
    for (const plan of plansFor(tracks, mode)) {
      const file = join(workPath, `out.${plan.extension}`);
      try {
        await tools.ffmpeg({
          args: [
            "-fflags",
            "+genpts",
            "-i",
            path,
            ...plan.output,
            "-map_metadata",
            "-1",
            "-map_chapters",
            "-1",
            "-max_interleave_delta",
            "0",
            "-y",
            file,
          ],
          reads: [path],
          writes: workPath,
          wallMs: plan.encodes ? MAX_ENCODE_MS : 60_000 + size / OCTETS_PER_MS,
          cpuSeconds: MAX_ENCODE_MS / 1000,
          fileBytes: Math.ceil(Math.max(1 << 26, size * (plan.encodes ? 40 : MAX_COPY_SIZE_RATIO))),
          ...options,
          // Encoding may take hours, while other jobs take only moments.
          ...(plan.encodes && { urgency: "background" }),
        });
      } catch (err) {
        if (!isFileError(err)) throw err;
        if (plan.last) throw malformedFileError("Its packets cannot be ordered.", { cause: err });
        continue;
      }
      if ((await stat(file)).size === 0) throw malformedFileError("It has no packets.");
      const key = `${mezzaninePrefix(uid)}.${ids.hex()}.${plan.extension}`;
      await objects.put(key, createReadStream(file, { highWaterMark: 1 << 20 }));
      return key;
    }
    throw malformedFileError();
  } finally {
    await remove();
  }
}

interface Plan {
  extension: "mp4" | "mkv";
  output: string[];
  encodes: boolean;
  last: boolean;
}

function plansFor({ video, audio, moreAudio = [] }: ChosenTracks, mode: MezzanineMode): Plan[] {
  const maps = [video, audio, ...moreAudio]
    .filter((stream) => stream !== undefined)
    .flatMap(({ index }) => ["-map", `0:${index}`]);
  const encodePlan: Plan = {
    extension: "mp4",
    output: [...maps, ...encodeVideo(video), ...(audio ? ["-c:a", "aac", "-b:a", "256k"] : [])],
    encodes: true,
    last: true,
  };
  if (mode === "encode") return [encodePlan];
  const fitsContainer = (stream: StreamDescription | undefined, ...containers: ReadonlySet<string>[]) =>
    stream === undefined || containers.some((codecs) => codecs.has(stream.codec!));
  const fitsMp4 =
    fitsContainer(video, MP4_VIDEO) &&
    [audio, ...moreAudio].every((audioStream) => fitsContainer(audioStream, MP4_AUDIO));
  const fitsMatroska = fitsContainer(video, MP4_VIDEO, MATROSKA_VIDEO);
  if (!fitsMp4 && !fitsMatroska) return [encodePlan];
  const canCopyAudio =
    fitsMp4 || [audio, ...moreAudio].every((audioStream) => fitsContainer(audioStream, MP4_AUDIO, MATROSKA_AUDIO))
      ? ["-c:a", "copy"]
      : ["-c:a", "aac", "-b:a", "256k"];
  // Xvid in AVI packs two frames into one packet and leaves the next one empty.
  const unpackFilter = video?.codec === "mpeg4" ? ["-bsf:v", "mpeg4_unpack_bframes"] : [];
  const copyPlan: Plan = {
    extension: fitsMp4 ? "mp4" : "mkv",
    output: [...maps, "-c:v", "copy", ...unpackFilter, ...canCopyAudio, "-avoid_negative_ts", "make_zero"],
    encodes: false,
    last: false,
  };
  return [copyPlan, encodePlan];
}

/** Key frames every two seconds; frames keep their timestamps, in a timescale that suits every frame rate. */
function encodeVideo(video: StreamDescription | undefined): string[] {
  if (video === undefined) return [];
  const deinterlaceFilter = isInterlaced(video) ? "bwdif=mode=send_frame:parity=auto:deint=interlaced," : "";
  const filter = `${deinterlaceFilter}scale=ceil(iw/2)*2:ceil(ih/2)*2`;
  return [
    "-c:v",
    "libx264",
    "-preset",
    "superfast",
    "-crf",
    "14",
    "-pix_fmt",
    "yuv420p",
    "-vf",
    filter,
    "-fps_mode",
    "passthrough",
    "-enc_time_base",
    "1/90000",
    "-force_key_frames",
    "expr:gte(t,n_forced*2)",
  ];
}
