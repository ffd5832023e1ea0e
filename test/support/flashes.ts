import { runFfmpeg, type ClipRecipe } from "./media.ts";

/** Times in seconds at which the frame turns white and the tone starts; both last FLASH_SECONDS. */
export const FLASHES = [1, 3, 5, 7];
export const FLASH_SECONDS = 0.1;

const during = (t: string) => `between(mod(${t}\\,2)\\,0.9999\\,1.0999)`;

/** 8.5 s at 30 fps, with deep frame reordering and AAC priming, as in camera files. */
export const flashClip: ClipRecipe = {
  inputs: [
    "-f",
    "lavfi",
    "-i",
    `testsrc2=size=320x180:rate=30:duration=9,eq=brightness=-0.5:contrast=0.3,drawbox=color=white:t=fill:enable='${during("t")}'`,
    "-f",
    "lavfi",
    "-i",
    `aevalsrc='0.5*sin(2*PI*1000*t)*${during("t")}':sample_rate=44100:duration=8.5`,
  ],
  video: [
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-pix_fmt",
    "yuv420p",
    "-x264-params",
    "bframes=4:b-adapt=0:b-pyramid=normal:scenecut=0",
  ],
  audio: ["-c:a", "aac", "-b:a", "96k", "-ac", "2", "-ar", "44100"],
};

export interface Measured {
  /** Presentation time of the first video frame and the first audio frame, in seconds. */
  first: { video: number; audio: number };
  /** Times at which frames turn white. */
  flashes: number[];
  /** Times at which tones start. */
  tones: number[];
}

/**
 * Measures frames and audio as output by libavformat, for one video stream and the first audio stream of a file or URL.
 */
export async function measureFlashes(input: string, stream = 0): Promise<Measured> {
  const [frames, audio, samples] = await Promise.all([
    printed([
      "-copyts",
      "-i",
      input,
      "-map",
      `0:v:${stream}`,
      "-vf",
      "signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-",
      "-fps_mode",
      "passthrough",
      "-f",
      "null",
      "-",
    ]),
    printed([
      "-copyts",
      "-i",
      input,
      "-map",
      "0:a:0",
      "-af",
      "astats=metadata=1,ametadata=print:key=lavfi.astats.Overall.Peak_level:file=-",
      "-f",
      "null",
      "-",
    ]),
    // aresample pads or trims the start, so sample n has timestamp n / 48,000 s.
    runFfmpeg([
      "-copyts",
      "-i",
      input,
      "-map",
      "0:a:0",
      "-af",
      "aresample=48000,aresample=async=1:min_comp=0.00001:min_hard_comp=0.01:first_pts=0",
      "-ac",
      "1",
      "-f",
      "f32le",
      "pipe:1",
    ]),
  ]);
  const bright = frames.map(({ value }) => value > 150);
  const waveform = new Float32Array(
    samples.buffer.slice(samples.byteOffset, samples.byteOffset + samples.length - (samples.length % 4)),
  );
  return {
    first: { video: frames[0]!.time, audio: audio[0]!.time },
    flashes: frames.flatMap(({ time }, i) => (bright[i] === true && bright[i - 1] !== true ? [time] : [])),
    tones: onsets(waveform, 48_000),
  };
}

/** Parses output of the filters `metadata` and `ametadata`: alternating lines with time and value. */
async function printed(args: string[]): Promise<{ time: number; value: number }[]> {
  const text = (await runFfmpeg(args)).toString();
  return [...text.matchAll(/pts_time:(\S+)\s+lavfi\.[\w.]+=(\S+)/g)].map(([, time, value]) => ({
    time: Number(time),
    value: Number(value),
  }));
}

/** Times at which audio starts after at least half a second of silence. */
function onsets(samples: Float32Array, rate: number): number[] {
  const found: number[] = [];
  let loudUntil = -rate;
  for (const [i, sample] of samples.entries()) {
    if (Math.abs(sample) < 0.2) continue;
    if (i - loudUntil > rate / 2) found.push(i / rate);
    loudUntil = i;
  }
  return found;
}
