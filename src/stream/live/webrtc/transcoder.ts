import { availableParallelism } from "node:os";
import type { Log } from "../../../kernel/index.ts";
import {
  joinLengthPrefixed,
  NAL,
  nalType,
  readSps,
  splitAnnexB,
  writeAvcConfig,
} from "../../../protocol/h264/index.ts";
import { createMatroskaWriter, type MatroskaTrack } from "../../../protocol/matroska/index.ts";
import { createTsDemuxer, readOpus, type TsUnit } from "../../../protocol/mpegts/index.ts";
import { OPUS_RATE } from "../../../protocol/rtp/index.ts";
import { streamErrors } from "../../errors.ts";
import type { MediaTools } from "../../media/index.ts";
import { MATROSKA_INPUT } from "../matroska-input.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";

/** Transcodes a broadcast for browsers that cannot play its codecs. */
export interface Transcoder {
  /** `kindsToTranscode`: the tracks to transcode. Timestamps are preserved. Throws webrtcEncoderBusy. */
  open(tracks: LiveTracks, kindsToTranscode: { video: boolean; audio: boolean }, out: TranscoderOutput): Transcoding;
}

export interface TranscoderOutput {
  packet(packet: MediaPacket): void;
  /** Called before the first transcoded frame: H.264 without B-frames. */
  tracks(tracks: LiveTracks): void;
  /** Called last, if the transcoder has failed. */
  failed(err: unknown): void;
}

export interface Transcoding {
  write(packet: MediaPacket): void;
  /** Returns the number of octets queued for the encoder. */
  lag(): number;
  close(): void;
}

const VIDEO = { h264: "V_MPEG4/ISO/AVC", hevc: "V_MPEGH/ISO/HEVC", av1: "V_AV1", vp8: "V_VP8", vp9: "V_VP9" };
const AUDIO = { aac: "A_AAC", mp3: "A_MPEG/L3", opus: "A_OPUS" };
/** For an unknown frame size: decoders use the one in the bitstream. */
const FALLBACK_SIZE = { width: 1280, height: 720 };
/** A longer queue would be too late for live viewing. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/**
 * The delay of libopus (RFC 7845, 4.2), in samples: its first packet is presented that much earlier than its source.
 */
const LOOKAHEAD = 312;
const TICKS_TO_US = 1_000_000 / 90_000;

/**
 * Runs one ffmpeg per transcoding while there are viewers. `limit`: maximum number with video; default: one per
 * processor.
 */
export function createTranscoder({
  tools,
  log,
  limit = availableParallelism(),
}: {
  tools: Pick<MediaTools, "live">;
  log: Log;
  limit?: number;
}): Transcoder {
  let encoding = 0;
  return {
    open(tracks, kindsToTranscode, out) {
      if (kindsToTranscode.video && encoding >= limit) throw streamErrors.webrtcEncoderBusy({ limit });
      const inputs: { kind: MediaPacket["kind"]; track: MatroskaTrack }[] = [];
      const { video, audio } = tracks;
      if (kindsToTranscode.video && video !== undefined)
        inputs.push({
          kind: "video",
          track: {
            kind: "video",
            codec: VIDEO[video.codec],
            config: video.config,
            ...(video.width > 0 && video.height > 0 ? { width: video.width, height: video.height } : FALLBACK_SIZE),
          },
        });
      if (kindsToTranscode.audio && audio !== undefined)
        inputs.push({
          kind: "audio",
          track: {
            kind: "audio",
            codec: AUDIO[audio.codec],
            config: audio.config,
            sampleRate: audio.sampleRate,
            channels: audio.channels,
          },
        });
      const writer = createMatroskaWriter(inputs.map(({ track }) => track));
      let base: number | undefined;
      const time = (us: number) => us + (base ?? 0);
      const readers = inputs.map(({ kind }) =>
        kind === "video" ? createVideoReader(out, time) : createAudioReader(out.packet, time),
      );
      let isOpen = true;
      const media = tools.live({
        args: [...MATROSKA_INPUT, ...inputs.flatMap(({ kind }, i) => output(kind, i))],
        outputs: readers,
        urgency: "urgent",
        inputBytes: MAX_WAITING_BYTES,
        threads: 1,
      });
      if (kindsToTranscode.video) encoding++;
      media.stdin.write(writer.header());
      media.done
        .catch((err: unknown) => err)
        .then((err) => {
          if (kindsToTranscode.video) encoding--;
          if (!isOpen) return;
          isOpen = false;
          log.warn({ err, kinds: inputs.map(({ kind }) => kind) }, "webrtc: failed to transcode for viewers");
          out.failed(err);
        });
      return {
        write({ kind, pts, key, data }) {
          const track = inputs.findIndex((input) => input.kind === kind);
          if (!isOpen || track === -1) return;
          // Decoding begins with a key frame, and audio starts with it.
          if (base === undefined && inputs[0]!.kind === "video" && !(kind === "video" && key)) return;
          base ??= pts;
          if (pts >= base) for (const bytes of writer.block(track + 1, pts - base, key, data)) media.stdin.write(bytes);
        },
        lag: () => media.stdin.writableLength,
        close() {
          isOpen = false;
          media.kill();
        },
      };
    },
  };
}

function output(kind: MediaPacket["kind"], index: number): string[] {
  const kindArgs =
    kind === "video"
      ? [
          "-vf",
          "scale=-2:'min(720,trunc(ih/2)*2)',setsar=1,format=yuv420p",
          "-c:v",
          "libx264",
          "-preset",
          "veryfast",
          "-tune",
          "zerolatency",
          "-profile:v",
          "baseline",
          "-threads",
          "1",
          "-crf",
          "24",
          "-maxrate",
          "3M",
          "-bufsize",
          "3M",
          "-x264-params",
          "keyint=infinite:scenecut=0:force-cfr=0",
          "-force_key_frames",
          "expr:gte(t,n_forced*2)",
          "-fps_mode",
          "passthrough",
          "-enc_time_base",
          "1/90000",
        ]
      : // Fills gaps with silence, so that timestamps follow from the number of samples. The flags enable the resampler from the start: one inserted later, when ffmpeg detects drift, starts at timestamp zero.
        [
          "-af",
          `aresample=${OPUS_RATE},aresample=async=1000:min_comp=0.01:min_hard_comp=0.1:first_pts=0:flags=res`,
          "-c:a",
          "libopus",
          "-b:a",
          "96k",
          "-ac",
          "2",
          "-frame_duration",
          "20",
        ];
  // Outputs each packet immediately: the length prefix makes waiting for the next one unnecessary.
  return [
    "-map",
    `0:${index}`,
    ...kindArgs,
    "-muxdelay",
    "0",
    "-muxpreload",
    "0",
    "-avoid_negative_ts",
    "disabled",
    "-flush_packets",
    "1",
    "-omit_video_pes_length",
    "0",
    "-pes_payload_size",
    "0",
    "-f",
    "mpegts",
    `pipe:${3 + index}`,
  ];
}

function demuxInto(unit: (unit: TsUnit) => void): (chunk: Buffer) => void {
  const demuxer = createTsDemuxer({ streams: () => {}, unit });
  return (chunk) => demuxer.write(chunk);
}

function createVideoReader(out: TranscoderOutput, time: (us: number) => number): (chunk: Buffer) => void {
  let isConfigured = false;
  return demuxInto(({ pts, data }) => {
    const nals = splitAnnexB(data).filter((nal) => nalType(nal) !== NAL.delimiter);
    const key = nals.some((nal) => nalType(nal) === NAL.idr);
    const nalsOfType = (type: number) => nals.filter((nal) => nalType(nal) === type);
    const [sps, pps] = [nalsOfType(NAL.sps), nalsOfType(NAL.pps)];
    if (!isConfigured && key && sps.length > 0 && pps.length > 0) {
      const { width, height } = readSps(sps[0]!);
      out.tracks({ video: { codec: "h264", config: writeAvcConfig(sps, pps), width, height } });
      isConfigured = true;
    }
    const packetTime = time(Math.round(pts * TICKS_TO_US));
    if (isConfigured)
      out.packet({ kind: "video", dts: packetTime, pts: packetTime, key, data: joinLengthPrefixed(nals) });
  });
}

function createAudioReader(packet: TranscoderOutput["packet"], time: (us: number) => number): (chunk: Buffer) => void {
  let samples = -LOOKAHEAD;
  return demuxInto(({ data }) => {
    for (const opus of readOpus(data)) {
      const packetTime = time(Math.round((samples * 1_000_000) / OPUS_RATE));
      samples += opus.samples;
      packet({ kind: "audio", dts: packetTime, pts: packetTime, key: true, data: Buffer.from(opus.data) });
    }
  });
}
