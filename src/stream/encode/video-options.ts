import { hardwareOptions } from "../media/index.ts";
import type { HardwareEncoder, MediaModel, VideoRendition } from "../model.ts";
import { levelOf, renditionRate, frameTicks, timescaleOf } from "./codecs.ts";

/**
 * ffmpeg output options that, identically in every run, start each segment with a key frame across which no later frame
 * refers: this makes segments from different runs, machines and days fit together and share one initialization segment.
 * Each frame is a fragment of its own (`frag_every_frame`), written as soon as it is encoded, with its time on the frame
 * grid (`frag_discont`; otherwise times would start at zero). `hardware`: encodes H.264 instead of x264.
 */
export function videoOptions(rendition: VideoRendition, model: MediaModel, hardware?: HardwareEncoder): string[] {
  const rate = renditionRate(rendition, model);
  return [
    ...encoderOptions(rendition, model, hardware),
    "-fps_mode",
    "passthrough",
    "-enc_time_base",
    `${rate.den}/${rate.num}`,
    // Metadata of the source must not reach viewers.
    "-map_metadata",
    "-1",
    "-map_chapters",
    "-1",
    "-fflags",
    "+bitexact",
    "-avoid_negative_ts",
    "disabled",
    "-video_track_timescale",
    String(timescaleOf(rendition, model)),
    "-f",
    "mp4",
    "-movflags",
    "+cmaf+negative_cts_offsets+default_base_moof+empty_moov+frag_every_frame+frag_discont+skip_trailer",
  ];
}

/**
 * Returns the maximum reordering depth, in frames: x264 and x265 reorder by two (b-pyramid), hardware encoders by one, SVT-AV1 hides reordered
 * frames in temporal units. This is a constant, not a measured value, because the initialization segment must not
 * depend on the segment encoded with it.
 */
const reorderedFrames = ({ codec }: Pick<VideoRendition, "codec">): number => (codec === "av1" ? 0 : 2);
/** Ticks added to this rendition's composition offsets. */
export const delayOf = (rendition: VideoRendition, model: MediaModel): number =>
  model.editLists === true ? reorderedFrames(rendition) * frameTicks(rendition, model) : 0;

/**
 * Id of the parameter sets of x264 in a video with a hardware encoder, whose own sets have the id 0: slices refer to
 * their parameter sets by id.
 */
const FALLBACK_SET_ID = 1;

function encoderOptions(rendition: VideoRendition, model: MediaModel, hardware: HardwareEncoder | undefined): string[] {
  const { codec, bitrate, halved } = rendition;
  const { framesPerSegment } = model.segments;
  const keyframeInterval = halved === true ? framesPerSegment / 2 : framesPerSegment;
  const level = levelOf(rendition, model);
  const rateLimits = ["-maxrate", String(bitrate), "-bufsize", String(2 * bitrate)];
  if (codec === "hevc") {
    const params = `keyint=${keyframeInterval}:min-keyint=${keyframeInterval}:scenecut=0:open-gop=0:level-idc=${(level / 30).toFixed(1)}:info=0:log-level=error`;
    return [
      "-c:v",
      "libx265",
      "-preset",
      "veryfast",
      "-crf",
      "26",
      ...rateLimits,
      "-profile:v",
      "main",
      "-x265-params",
      params,
      "-tag:v",
      "hvc1",
    ];
  }
  if (codec === "av1") {
    const params = `keyint=${keyframeInterval}:irefresh-type=2:scd=0:level=${2 + (level >> 2)}${level & 3}:mbr=${Math.round(bitrate / 1000)}`;
    return [
      "-c:v",
      "libsvtav1",
      "-preset",
      "9",
      "-crf",
      "35",
      "-g",
      String(keyframeInterval),
      "-svtav1-params",
      params,
    ];
  }
  if (hardware !== undefined) return hardwareOptions(hardware, { bitrate, level, keyFrames: keyframeInterval });
  const setId = model.softwareFallback === true ? `:sps-id=${FALLBACK_SET_ID}` : "";
  const params = `keyint=${keyframeInterval}:min-keyint=${keyframeInterval}:scenecut=0:open-gop=0${setId}`;
  return [
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-crf",
    "23",
    ...rateLimits,
    "-profile:v",
    "high",
    "-level:v",
    (level / 10).toFixed(1),
    "-x264-params",
    params,
  ];
}
