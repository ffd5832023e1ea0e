import { MAX_PIXELS } from "../media/index.ts";
import type { FileDescription, StreamDescription } from "./describe.ts";
import { malformedFileError, nonVideoError } from "./refused.ts";

export interface ChosenTracks {
  video?: StreamDescription;
  audio?: StreamDescription;
  /** Audio streams other than `audio`, in file order. */
  moreAudio?: StreamDescription[];
  /** Text subtitles. */
  subtitles?: StreamDescription[];
}

/** Each one adds a playlist to every manifest. */
const MAX_ADDITIONAL_AUDIO = 31;
const MAX_SUBTITLES = 50;
/** Codecs of text subtitles. Subtitles of DVDs, Blu-rays and broadcasts are images. */
const TEXT_SUBTITLE_CODECS = new Set(["subrip", "srt", "mov_text", "webvtt", "ass", "ssa", "text"]);

/** MAX_PIXELS in readable form. ffprobe reports nothing about larger frames, because it must not decode them. */
const MAX_FRAME_SIZE = "8192x4320";
/** Image codecs: such a stream alongside audio is a cover image, regardless of its flags. */
const STILL_IMAGE_CODECS = new Set(["mjpeg", "png", "bmp", "webp", "tiff", "gif"]);

/**
 * Returns the video and audio to be shown: the file's default tracks, or else the largest video and the first audio.
 * Throws ProbeRejected.
 */
export function chooseTracks({ streams }: FileDescription): ChosenTracks {
  const audio = prefer(
    streams.filter((stream) => stream.kind === "audio"),
    (a, b) => a.index - b.index,
  );
  const videoStreams = streams.filter(
    (stream) =>
      stream.kind === "video" &&
      !stream.isPicture &&
      !(audio !== undefined && STILL_IMAGE_CODECS.has(stream.codec ?? "") && stream.frames === 1),
  );
  const video = prefer(videoStreams, (a, b) => b.width * b.height - a.width * a.height || a.index - b.index);
  if (video === undefined && audio === undefined) throw nonVideoError("It has neither video nor audio.");
  if (video !== undefined) checkVideo(video);
  const isSupportedAudio = ({ codec, channels, sampleRate }: StreamDescription) =>
    codec !== undefined && channels > 0 && sampleRate > 0;
  const supportedAudio = audio !== undefined && isSupportedAudio(audio) ? audio : undefined;
  const moreAudio =
    supportedAudio === undefined
      ? []
      : streams
          .filter((stream) => stream.kind === "audio" && stream !== supportedAudio && isSupportedAudio(stream))
          .slice(0, MAX_ADDITIONAL_AUDIO);
  const subtitles = streams
    .filter((stream) => stream.kind === "other" && TEXT_SUBTITLE_CODECS.has(stream.codec ?? "") && !stream.isForced)
    .slice(0, MAX_SUBTITLES);
  if (video === undefined && supportedAudio === undefined)
    throw malformedFileError("Its audio format is not supported.");
  return {
    ...(video && { video }),
    ...(supportedAudio && { audio: supportedAudio }),
    ...(moreAudio.length > 0 && { moreAudio }),
    ...(subtitles.length > 0 && { subtitles }),
  };
}

const prefer = (streams: StreamDescription[], order: (a: StreamDescription, b: StreamDescription) => number) =>
  streams.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || order(a, b))[0];

function checkVideo(video: StreamDescription): void {
  if (video.codec === undefined) throw malformedFileError("Its video format is not supported.");
  if (video.width * video.height > MAX_PIXELS)
    throw malformedFileError(`Its frames have ${video.width}x${video.height} pixels, more than ${MAX_FRAME_SIZE}.`);
  if (video.width < 1 || video.height < 1 || video.pixelFormat === undefined)
    throw malformedFileError(
      `Its frame size or pixel format is unknown, or its frames have more than ${MAX_FRAME_SIZE}.`,
    );
}
