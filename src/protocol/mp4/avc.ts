import { boxesIn, Mp4Error, type Box } from "./boxes.ts";

/** AVC sample description (ISO 14496-15, 5.4.2). */
export interface AvcDescription {
  width: number;
  height: number;
  /** RFC 6381 codec string, such as "avc1.64001f". */
  codecs: string;
  /** True for 4:2:0 with 8 bits, if the profile determines this. */
  plain: boolean;
  /** The sample entry, reduced to the fields that a decoder needs. */
  entry: Buffer;
}

/** Size of the fixed part of a visual sample entry (14496-12, 12.1.3), including the box header. */
const VISUAL_ENTRY_BYTES = 86;
/** Boxes passed on to players: decoder configuration, pixel aspect ratio and colours. */
const RETAINED_BOXES = ["avcC", "pasp", "colr"];
const MAX_RETAINED_BYTES = 64 * 1024;
/** Baseline, main, extended and high profiles always use 4:2:0 with 8 bits. */
const PLAIN_PROFILES = new Set([66, 77, 88, 100]);

/**
 * Reads a video sample description. Undefined for anything except `avc1`: in `avc3`, parameter sets are in the samples
 * and may change; `encv` is encrypted. Throws Mp4Error for a malformed entry.
 */
export function readAvc(description: Buffer): AvcDescription | undefined {
  if (description.toString("latin1", 4, 8) !== "avc1") return undefined;
  if (description.length < VISUAL_ENTRY_BYTES) throw new Mp4Error("truncated avc1 sample description");
  const childBoxes = boxesIn(description, VISUAL_ENTRY_BYTES, description.length);
  const avcC = childBoxes.find(({ type }) => type === "avcC");
  if (avcC === undefined || avcC.end - avcC.body < 7)
    throw new Mp4Error("the sample description has no decoder configuration (avcC)");
  const [, profile, compatibility, level] = description.subarray(avcC.body, avcC.body + 4);
  const codecs = `avc1.${[profile!, compatibility!, level!].map((octet) => octet.toString(16).padStart(2, "0")).join("")}`;
  return {
    width: description.readUInt16BE(32),
    height: description.readUInt16BE(34),
    codecs,
    plain: PLAIN_PROFILES.has(profile!),
    entry: cleanDescription(description, childBoxes),
  };
}

/** Removes all other boxes from the entry. */
function cleanDescription(description: Buffer, childBoxes: readonly Box[]): Buffer {
  const parts = childBoxes
    .filter(({ type }) => RETAINED_BOXES.includes(type))
    .map(({ start, end }) => description.subarray(start, end));
  const entry = Buffer.concat([description.subarray(0, VISUAL_ENTRY_BYTES), ...parts]);
  if (entry.length > MAX_RETAINED_BYTES)
    throw new Mp4Error(`a sample description has ${entry.length} octets; at most ${MAX_RETAINED_BYTES} are supported`);
  entry.writeUInt32BE(entry.length, 0);
  // 8.5.2: data reference index; written files have only one data reference.
  entry.writeUInt16BE(1, 14);
  return entry;
}
