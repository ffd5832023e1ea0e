import { join } from "node:path";
import { formatVtt, readCaptions } from "../../protocol/webvtt/index.ts";
import type { Scratch } from "../scratch.ts";
import { MediaRunError, runChild } from "../media/index.ts";
import type { Video } from "../videos/index.ts";
import type { CaptionsParts } from "./parts.ts";

/** The speech of a video could not be turned into captions, and trying again would not help. */
export class NoCaptions extends Error {
  override readonly name = "NoCaptions";
}

const MINUTE_MS = 60_000;
/** Of what the program writes. */
const MAX_OUTPUT = 10 << 20;
/** Slower than this, compared with the video, and nobody waits for it; and some minutes to begin with. */
const PATIENCE = 10;

/**
 * WebVTT of what is spoken, by the program of the settings: it is given a WAV file (16 kHz, mono) and a language, and writes WebVTT or SubRip to its
 * standard output. It is the operator's own, so it is not shut in as ffmpeg is; but it sees nothing of our surroundings except where programs and its home are,
 * and it ends with its time. Throws NoCaptions; and what is worth another try: mediaToolsMissing, encoderBusy, an abort.
 */
export async function captionsOfSpeech(
  { objects, tools, settings, scratch }: Pick<CaptionsParts, "objects" | "tools" | "settings"> & { scratch: Scratch },
  video: Video,
  language: string,
  signal: AbortSignal,
): Promise<string> {
  const { model } = video;
  const source = model === null ? undefined : await objects.file(model.source.key);
  if (model?.audio === undefined || source === undefined) throw new NoCaptions("its sound is not there");
  const { path, remove } = await scratch.make("captions");
  try {
    const audio = join(path, "audio.wav");
    const wallMs = 5 * MINUTE_MS + model.duration * 1000 * PATIENCE;
    await tools
      .ffmpeg({
        args: [
          ...(model.source.start > 0 ? ["-ss", model.source.start.toFixed(6)] : []),
          "-t",
          model.duration.toFixed(6),
          "-f",
          model.source.format,
          "-i",
          source,
          "-map",
          `0:${model.audio.stream}`,
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
      })
      .catch(giveUp);
    const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = "/" } = process.env;
    const command = settings.caption_command.map((word) =>
      word.replaceAll("{audio}", audio).replaceAll("{language}", language),
    );
    const { output } = await runChild(
      "the caption program",
      { command: ["/usr/bin/env", `PATH=${PATH}`, `HOME=${HOME}`, "nice", "-n", "10", ...command] },
      { wallMs, outputBytes: MAX_OUTPUT, signal },
    ).catch(giveUp);
    const reading = readCaptions(output);
    if (!reading.ok) throw new NoCaptions(`what the caption program wrote cannot be read: ${reading.why}`);
    return formatVtt(reading.captions);
  } finally {
    await remove();
  }
}

function giveUp(err: unknown): never {
  if (err instanceof MediaRunError && err.reason !== "aborted" && err.reason !== "closed")
    throw new NoCaptions(err.message, { cause: err });
  throw err;
}
