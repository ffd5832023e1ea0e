import { join } from "node:path";
import { formatVtt, readCaptions } from "../../protocol/webvtt/index.ts";
import { withLeasedFiles } from "../../store/index.ts";
import type { Scratch } from "../scratch.ts";
import { MediaRunError, runChild } from "../media/index.ts";
import type { Video } from "../videos/index.ts";
import type { CaptionsDeps } from "./deps.ts";

/** Speech recognition failed permanently; a retry would not help. */
export class TranscriptionError extends Error {
  override readonly name = "TranscriptionError";
}

const MINUTE_MS = 60_000;
/** Maximum size of the program's output. */
const MAX_OUTPUT_BYTES = 10 << 20;
/** The program may take this many times the duration of the video, plus a few minutes for startup. */
const MAX_DURATION_FACTOR = 10;

/**
 * Transcribes the speech in a video to WebVTT with the configured program, which receives a WAV file (16 kHz, mono) and
 * a language, and writes WebVTT or SubRip to its standard output. The operator provides the program, so it is not
 * sandboxed like ffmpeg; but its environment contains only `PATH` and `HOME`, and it is killed on timeout. Throws
 * TranscriptionError, and errors that can be retried: mediaToolsMissing, encoderBusy, an abort.
 */
export async function transcribe(
  { objects, tools, settings, scratch }: Pick<CaptionsDeps, "objects" | "tools" | "settings"> & { scratch: Scratch },
  { model }: Video,
  language: string,
  signal: AbortSignal,
): Promise<string> {
  if (model?.audio === undefined) throw new TranscriptionError("its audio is missing");
  const { audio: track } = model;
  const { path, remove } = await scratch.create("captions");
  try {
    const audio = join(path, "audio.wav");
    const wallMs = 5 * MINUTE_MS + model.duration * 1000 * MAX_DURATION_FACTOR;
    await withLeasedFiles(objects, [model.source.key], async ([source]) => {
      if (source === undefined) throw new TranscriptionError("its audio is missing");
      await tools.ffmpeg({
        args: [
          ...(model.source.start > 0 ? ["-ss", model.source.start.toFixed(6)] : []),
          "-t",
          model.duration.toFixed(6),
          "-f",
          model.source.format,
          "-i",
          source,
          "-map",
          `0:${track.stream}`,
          "-ac",
          "1",
          "-ar",
          "16000",
          "-c:a",
          "pcm_s16le",
          "-map_metadata",
          "-1",
          audio,
        ],
        reads: [source],
        writes: path,
        signal,
        wallMs,
      });
    }).catch(throwIfPermanent);
    const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "/" } = process.env;
    const command = settings.caption_command.map((word) =>
      word.replaceAll("{audio}", audio).replaceAll("{language}", language),
    );
    const { output } = await runChild(
      "the caption program",
      { command: ["/usr/bin/env", `PATH=${PATH}`, `HOME=${HOME}`, "nice", "-n", "10", ...command] },
      { wallMs, outputBytes: MAX_OUTPUT_BYTES, signal },
    ).catch(throwIfPermanent);
    const parsedCaptions = readCaptions(output);
    if (!parsedCaptions.ok)
      throw new TranscriptionError(`the output of the caption program is invalid: ${parsedCaptions.why}`);
    return formatVtt(parsedCaptions.captions);
  } finally {
    await remove();
  }
}

function throwIfPermanent(err: unknown): never {
  if (err instanceof MediaRunError && err.reason !== "aborted" && err.reason !== "closed")
    throw new TranscriptionError(err.message, { cause: err });
  throw err;
}
