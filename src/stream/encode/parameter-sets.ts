import { readAvcConfig, writeAvcConfig } from "../../protocol/h264/index.ts";
import { avcEntry, Mp4Error, readInit, writeInit } from "../../protocol/mp4/index.ts";

/** Returns the initialization segment with the H.264 parameter sets of `other` in addition to its own. */
export async function addParameterSets(init: Buffer, other: Buffer): Promise<Buffer> {
  const [own, added] = [parameterSetsOf(init), parameterSetsOf(other)];
  const header = await readInit(init);
  const { entry } = avcEntry(
    writeAvcConfig([...own.sps, ...added.sps], [...own.pps, ...added.pps]),
    header.width,
    header.height,
  );
  return writeInit({ ...header, id: TRACK_ID, description: entry });
}

/** True if segments that fit `other` also fit `init`. */
export function includesParameterSets(init: Buffer, other: Buffer): boolean {
  const [own, wanted] = [parameterSetsOf(init), parameterSetsOf(other)];
  return (["sps", "pps"] as const).every((kind) =>
    wanted[kind].every((set) => own[kind].some((one) => one.equals(set))),
  );
}

const TRACK_ID = 1;

/** The decoder configuration record (ISO 14496-15, 5.3.3) of the only track. */
function parameterSetsOf(init: Buffer): ReturnType<typeof readAvcConfig> {
  const start = init.indexOf("avcC", 0, "latin1") + 4;
  if (start < 4) throw new Mp4Error("the initialization segment has no decoder configuration (avcC)");
  return readAvcConfig(init.subarray(start));
}
