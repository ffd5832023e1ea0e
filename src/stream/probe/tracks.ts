import { MAX_PIXELS } from "../media/inputs.ts";
import type { FileDescription, StreamDescription } from "./describe.ts";
import { malformed, nonVideo } from "./refused.ts";

export interface ChosenTracks {
  video?: StreamDescription;
  audio?: StreamDescription;
}

/** MAX_PIXELS, for people. ffprobe tells nothing of pictures that are larger, as it must not decode them. */
const MOST = "8192x4320";
/** Codecs of single pictures: one of them beside a sound is a cover, whatever its flags say. */
const STILLS = new Set(["mjpeg", "png", "bmp", "webp", "tiff", "gif"]);

/** The moving picture and the sound that are shown: what the file prefers, else the largest picture and the first sound. Throws ProbeRefused. */
export function chooseTracks({ streams }: FileDescription): ChosenTracks {
  const audio = prefer(streams.filter((stream) => stream.kind === "audio"), (a, b) => a.index - b.index);
  const moving = streams.filter((stream) => stream.kind === "video" && !stream.isPicture && !(audio !== undefined && STILLS.has(stream.codec ?? "") && stream.frames === 1));
  const video = prefer(moving, (a, b) => b.width * b.height - a.width * a.height || a.index - b.index);
  if (video === undefined && audio === undefined) throw nonVideo("It has neither pictures nor sound.");
  if (video !== undefined) checkVideo(video);
  const heard = audio?.codec !== undefined && audio.channels > 0 && audio.sampleRate > 0 ? audio : undefined;
  if (video === undefined && heard === undefined) throw malformed("Its sound is in a form that is not known here.");
  return { ...(video && { video }), ...(heard && { audio: heard }) };
}

const prefer = (streams: StreamDescription[], order: (a: StreamDescription, b: StreamDescription) => number) => streams.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault) || order(a, b))[0];

function checkVideo(video: StreamDescription): void {
  if (video.codec === undefined) throw malformed("Its pictures are in a form that is not known here.");
  if (video.width * video.height > MAX_PIXELS) throw malformed(`Its pictures have ${video.width}x${video.height} pixels, more than ${MOST}.`);
  if (video.width < 1 || video.height < 1 || video.pixelFormat === undefined) throw malformed(`Nothing can be learned of its pictures, or they have more than ${MOST}.`);
}
