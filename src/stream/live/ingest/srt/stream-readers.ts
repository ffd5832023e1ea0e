import {
  H264Error,
  joinLengthPrefixed,
  NAL,
  nalType,
  readSps,
  splitAnnexB,
  writeAvcConfig,
} from "../../../../protocol/h264/index.ts";
import { HEVC_NAL, hevcNalType, isHevcKey, readHevcSps, writeHevcConfig } from "../../../../protocol/hevc/index.ts";
import {
  type AdtsFrame,
  createTimedAdtsReader,
  createMpegAudioReader,
  opusHead,
  readOpus,
  type TsStream,
  type TsUnit,
} from "../../../../protocol/mpegts/index.ts";
import type { LiveAudioTrack, LiveVideoTrack, MediaPacket } from "../../packets.ts";

/** Reads the packets of one stream in a transport stream. */
export interface StreamReader {
  kind: "video" | "audio";
  /** Undefined if the unit cannot be decoded yet. Times in microseconds, on the stream clock. */
  read(
    unit: TsUnit,
  ): { track: LiveVideoTrack | LiveAudioTrack; packets: MediaPacket[] } | { unsupported: string } | undefined;
}

const toMicroseconds = (ticks: number) => Math.round((ticks * 100) / 9);

/** Undefined for unsupported streams. */
export function createStreamReader({ codec, channels }: TsStream): StreamReader | undefined {
  switch (codec) {
    case "h264":
      return createVideoReader(H264);
    case "hevc":
      return createVideoReader(HEVC);
    case "aac":
      return createFrameReader("aac");
    case "mp3":
      return createFrameReader("mp3");
    case "opus":
      return createOpusReader(channels === 1 ? 1 : 2);
    default:
      return undefined;
  }
}

interface VideoSyntax {
  codec: "h264" | "hevc";
  typeOf(nal: Buffer): number;
  /** NAL types of the parameter sets, in the order that `configure` expects. */
  sets: readonly number[];
  /** NAL types that belong to no frame. */
  excludedTypes: ReadonlySet<number>;
  isKey(type: number): boolean;
  /** `sets`: the latest parameter sets of each type. Throws H264Error. */
  configure(sets: readonly Buffer[][]): Pick<LiveVideoTrack, "config" | "width" | "height">;
}

const H264: VideoSyntax = {
  codec: "h264",
  typeOf: nalType,
  sets: [NAL.sps, NAL.pps],
  excludedTypes: new Set([NAL.sps, NAL.pps, NAL.delimiter, NAL.endOfSequence, NAL.endOfStream, NAL.filler]),
  isKey: (type) => type === NAL.idr,
  configure([sps, pps]) {
    const { width, height } = readSps(sps![0]!);
    return { config: writeAvcConfig(sps!, pps!), width, height };
  },
};

const HEVC: VideoSyntax = {
  codec: "hevc",
  typeOf: hevcNalType,
  sets: [HEVC_NAL.vps, HEVC_NAL.sps, HEVC_NAL.pps],
  excludedTypes: new Set(Object.values(HEVC_NAL)),
  isKey: isHevcKey,
  configure([vps, sps, pps]) {
    const { width, height } = readHevcSps(sps![0]!);
    return { config: writeHevcConfig(vps!, sps!, pps!), width, height };
  },
};

/** Moves parameter sets from the frames into the configuration. */
function createVideoReader({ codec, typeOf, sets, excludedTypes, isKey, configure }: VideoSyntax): StreamReader {
  const knownSets: Buffer[][] = sets.map(() => []);
  let track: LiveVideoTrack | undefined;

  function updateParameterSets(nals: readonly Buffer[]) {
    let hasNewSets = false;
    for (const [i, type] of sets.entries()) {
      const nalsOfType = nals.filter((nal) => typeOf(nal) === type);
      if (
        nalsOfType.length === 0 ||
        (nalsOfType.length === knownSets[i]!.length && nalsOfType.every((nal, j) => nal.equals(knownSets[i]![j]!)))
      )
        continue;
      knownSets[i] = nalsOfType.map((nal) => Buffer.from(nal));
      hasNewSets = true;
    }
    if (!hasNewSets || knownSets.some((nalsOfType) => nalsOfType.length === 0)) return;
    try {
      track = { codec, ...configure(knownSets) };
    } catch (err) {
      // The sets were damaged in transit: later ones may be valid.
      if (!(err instanceof H264Error)) throw err;
    }
  }

  return {
    kind: "video",
    read({ pts, dts, data }) {
      const nals = splitAnnexB(data);
      updateParameterSets(nals);
      const pictureNals = nals.filter((nal) => !excludedTypes.has(typeOf(nal)));
      if (track === undefined || pictureNals.length === 0) return undefined;
      return {
        track,
        packets: [
          {
            kind: "video",
            dts: toMicroseconds(dts),
            pts: toMicroseconds(pts),
            key: pictureNals.some((nal) => isKey(typeOf(nal))),
            data: joinLengthPrefixed(pictureNals),
          },
        ],
      };
    },
  };
}

/** AAC and MP3: frames may begin in one unit and end in the next. */
function createFrameReader(codec: "aac" | "mp3"): StreamReader {
  const reader = codec === "aac" ? createTimedAdtsReader() : createMpegAudioReader();
  let track: LiveAudioTrack | undefined;
  let next = 0;

  return {
    kind: "audio",
    read({ pts, data }) {
      const frames = reader.read(data, pts);
      if (frames === "other") return { unsupported: "MPEG audio that is not layer III" };
      const packets: MediaPacket[] = [];
      for (const frame of frames) {
        const config: Buffer = "config" in frame ? (frame as AdtsFrame).config : Buffer.alloc(0);
        if (
          track === undefined ||
          track.sampleRate !== frame.sampleRate ||
          track.channels !== frame.channels ||
          !track.config.equals(config)
        )
          track = { codec, config, sampleRate: frame.sampleRate, channels: frame.channels };
        const time = frame.pts === undefined ? next : toMicroseconds(frame.pts);
        packets.push({
          kind: "audio",
          dts: Math.round(time),
          pts: Math.round(time),
          key: true,
          data: Buffer.from(frame.data),
        });
        next = time + (frame.samples * 1_000_000) / frame.sampleRate;
      }
      return track && { track, packets };
    },
  };
}

function createOpusReader(channels: number): StreamReader {
  const track: LiveAudioTrack = { codec: "opus", config: opusHead(channels), sampleRate: 48_000, channels };
  return {
    kind: "audio",
    read({ pts, data }) {
      let time = toMicroseconds(pts);
      const packets = readOpus(data).map(({ data, samples }): MediaPacket => {
        const packet: MediaPacket = { kind: "audio", dts: Math.round(time), pts: Math.round(time), key: true, data };
        time += (samples * 1_000_000) / 48_000;
        return packet;
      });
      return { track, packets };
    },
  };
}
