import { readAv1Size } from "../../../protocol/av1/index.ts";
import { H264Error, readAvcConfig, readSps } from "../../../protocol/h264/index.ts";
import { HEVC_NAL, hevcNalType, readHevcConfig, readHevcSps } from "../../../protocol/hevc/index.ts";
import type { LiveVideoTrack } from "../packets.ts";

export interface VideoConfig {
  /** The original record, with the length size set to four octets. */
  config: Buffer;
  /**
   * Octets of the length field before each NAL unit, as written by the publisher; undefined if the frames have none.
   */
  lengthSize: number | undefined;
  /** 0 if unspecified. */
  width: number;
  height: number;
}

/** Offset of the length size, in the last two bits (ISO 14496-15, 5.3.3.1 and 8.3.3.1). */
const LENGTH_SIZE_OFFSETS = { h264: 4, hevc: 21 } as const;
const MIN_CONFIG_BYTES = { h264: 7, hevc: 23, av1: 4 } as const;

/** Undefined if malformed. */
export function readVideoConfig(codec: LiveVideoTrack["codec"], configRecord: Buffer): VideoConfig | undefined {
  if (codec === "vp8" || codec === "vp9") return { config: configRecord, lengthSize: undefined, width: 0, height: 0 };
  if (configRecord.length < MIN_CONFIG_BYTES[codec]) return undefined;
  if (codec === "av1")
    return { config: configRecord, lengthSize: undefined, ...sizeOr0(() => readAv1Size(configRecord)) };
  const lengthSizeOffset = LENGTH_SIZE_OFFSETS[codec];
  const lengthSize = (configRecord[lengthSizeOffset]! & 3) + 1;
  const config = Buffer.from(configRecord);
  config[lengthSizeOffset]! |= 3;
  try {
    if (codec === "hevc") {
      // Players read the parameter sets in the record: a truncated one would fail in all of them.
      const sps = readHevcConfig(configRecord).find((nal) => nal.length > 0 && hevcNalType(nal) === HEVC_NAL.sps);
      return { config, lengthSize, ...sizeOr0(() => sps && readHevcSps(sps)) };
    }
    const [sps] = readAvcConfig(configRecord).sps;
    return sps === undefined ? undefined : { config, lengthSize, ...sizeOf(sps) };
  } catch (err) {
    if (err instanceof H264Error) return undefined;
    throw err;
  }
}

/** 0x0 if unreadable: a decoder may support more than this parser. */
function sizeOr0(read: () => { width: number; height: number } | undefined): { width: number; height: number } {
  try {
    const { width = 0, height = 0 } = read() ?? {};
    return { width, height };
  } catch (err) {
    if (err instanceof H264Error) return { width: 0, height: 0 };
    throw err;
  }
}

function sizeOf(sps: Buffer): { width: number; height: number } {
  const { width, height } = readSps(sps);
  return { width, height };
}
