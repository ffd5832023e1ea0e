import { FetchLoader, type HlsConfig } from "hls.js";
import { createChunkCollector } from "./chunk-collector.ts";

/**
 * Passes on each CMAF chunk of a segment as it arrives. The loader of hls.js passes on any data, but not less than 128
 * KiB: more than a second of 360p, which the server may take as long to encode. On the other hand, hls.js copies the
 * data of an incomplete chunk again for each piece.
 */
class ChunkLoader extends FetchLoader {
  override load(...[context, config, callbacks]: Parameters<FetchLoader["load"]>): void {
    const { onProgress, onSuccess } = callbacks;
    // Without `onProgress`, hls.js needs the complete segment, for example an initialization segment.
    if (onProgress === undefined || config.highWaterMark === Infinity) return super.load(context, config, callbacks);
    const collector = createChunkCollector();
    super.load(
      context,
      { ...config, highWaterMark: 0 },
      {
        ...callbacks,
        onProgress(stats, loadedContext, data, response) {
          const chunks = collector.add(new Uint8Array(data as ArrayBuffer));
          if (chunks !== undefined) onProgress(stats, loadedContext, chunks, response);
        },
        onSuccess(loaded, stats, loadedContext, response) {
          const rest = collector.rest();
          if (rest !== undefined) onProgress(stats, loadedContext, rest, response);
          onSuccess(loaded, stats, loadedContext, response);
        },
      },
    );
  }
}

/** Value for `fLoader`. A cast, because hls.js declares FetchLoader for any context, and `fLoader` for segments. */
export const chunkLoader = ChunkLoader as unknown as NonNullable<HlsConfig["fLoader"]>;
