import { FetchLoader, type HlsConfig } from "hls.js";

/**
 * Passes the data of a segment on as it arrives. The loader of hls.js first collects 128 KiB: more than a second of
 * 360p, which the server may take as long to encode.
 */
class ChunkLoader extends FetchLoader {
  override load(...[context, config, callbacks]: Parameters<FetchLoader["load"]>): void {
    // Without `onProgress`, hls.js needs the complete segment, for example an initialization segment.
    const isWhole = callbacks.onProgress === undefined || config.highWaterMark === Infinity;
    super.load(context, isWhole ? config : { ...config, highWaterMark: 0 }, callbacks);
  }
}

/** Value for `fLoader`. A cast, because hls.js declares FetchLoader for any context, and `fLoader` for segments. */
export const chunkLoader = ChunkLoader as unknown as NonNullable<HlsConfig["fLoader"]>;
