import { NAL, readAvcConfig, splitLengthPrefixed } from "../../../../protocol/h264/index.ts";
import { HEVC_NAL, readHevcConfig } from "../../../../protocol/hevc/index.ts";
import { adtsHeader, createTsMuxer, opusHeader, type TsCodec } from "../../../../protocol/mpegts/index.ts";
import type { LiveAudioTrack, LiveTracks, LiveVideoTrack, MediaPacket } from "../../packets.ts";
import type { LiveSubscriber } from "../../session.ts";

interface TsPlayerOptions {
  /** Writes whole packets of 188 octets; those of one video or audio frame are passed together. */
  write(packets: Buffer): void;
  /** Returns the time in milliseconds of a monotonic clock. */
  now: () => number;
}

/**
 * Writes a broadcast as a transport stream that continues across runs. Codecs that transport streams do not support
 * (VP8, VP9, AV1) are omitted.
 */
export function createTsPlayer({ write, now }: TsPlayerOptions): Pick<LiveSubscriber, "tracks" | "packet"> {
  const muxer = createTsMuxer(write);
  let currentTracks: LiveTracks = {};
  let startedAt: number | undefined;
  /** Added to the times of the run, in microseconds; undefined before its first packet. */
  let offset: number | undefined;
  let latest = 0;
  let sets: Buffer = Buffer.alloc(0);

  /** A gap in the broadcast is reproduced with its length. */
  function offsetFor(dts: number): number {
    if (startedAt === undefined) {
      startedAt = now();
      return -dts;
    }
    return Math.max(latest + RUN_GAP_US, (now() - startedAt) * 1000) - dts;
  }

  return {
    tracks({ video, audio }) {
      currentTracks = {
        ...(video !== undefined && isWritten(video.codec) && { video }),
        ...(audio !== undefined && { audio }),
      };
      offset = undefined;
      sets = currentTracks.video === undefined ? Buffer.alloc(0) : parameterSets(currentTracks.video);
      muxer.streams([
        ...(currentTracks.video === undefined
          ? []
          : [{ kind: "video" as const, codec: currentTracks.video.codec as TsCodec }]),
        ...(currentTracks.audio === undefined
          ? []
          : [{ kind: "audio" as const, codec: currentTracks.audio.codec, channels: currentTracks.audio.channels }]),
      ]);
    },
    packet(packet) {
      const track = currentTracks[packet.kind];
      if (track === undefined) return;
      const data =
        packet.kind === "video"
          ? pictureOf(currentTracks.video!, sets, packet)
          : audioPayload(currentTracks.audio!, packet);
      if (data === undefined) return;
      offset ??= offsetFor(packet.dts);
      const dts = Math.max(0, packet.dts + offset);
      latest = Math.max(latest, dts);
      muxer.unit({
        kind: packet.kind,
        dts: toTicks(dts),
        pts: toTicks(Math.max(dts, packet.pts + offset)),
        key: packet.key,
        data,
      });
    },
  };
}

/** Gap between the last packet of a run and the first of the next one, in microseconds. */
const RUN_GAP_US = 40_000;
const toTicks = (micros: number) => Math.round(micros * 0.09);
const isWritten = (codec: LiveVideoTrack["codec"]) => codec === "h264" || codec === "hevc";
const START_CODE = Buffer.from([0, 0, 0, 1]);
/** Each frame begins with a delimiter (ISO 13818-1, 2.14.1); this one allows any frame type to follow. */
const DELIMITERS = {
  h264: Buffer.from([0, 0, 0, 1, NAL.delimiter, 0xf0]),
  hevc: Buffer.from([0, 0, 0, 1, HEVC_NAL.delimiter << 1, 1, 0x50]),
};

const toAnnexB = (nals: readonly Buffer[]) => Buffer.concat(nals.flatMap((nal) => [START_CODE, nal]));

function parameterSets({ codec, config }: LiveVideoTrack): Buffer {
  if (codec === "hevc") return toAnnexB(readHevcConfig(config));
  const { sps, pps } = readAvcConfig(config);
  return toAnnexB([...sps, ...pps]);
}

function pictureOf({ codec }: LiveVideoTrack, sets: Buffer, { key, data }: MediaPacket): Buffer {
  return Buffer.concat([
    DELIMITERS[codec as "h264" | "hevc"],
    ...(key ? [sets] : []),
    toAnnexB(splitLengthPrefixed(data)),
  ]);
}

function audioPayload({ codec, config }: LiveAudioTrack, { data }: MediaPacket): Buffer | undefined {
  if (codec === "mp3") return data;
  const header = codec === "opus" ? opusHeader(data.length) : adtsHeader(config, data.length);
  return header && Buffer.concat([header, data]);
}
