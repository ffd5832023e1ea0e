import type { MediaModel, VideoRendition } from "../model.ts";
import { watermarkBox } from "./watermark-box.ts";

/** Segments of one rendition to encode in one run, in ascending order. */
export interface RenditionSegments {
  rendition: VideoRendition;
  segments: readonly number[];
}

interface GraphOptions {
  /** Input index of the watermark; absent: no watermark. */
  watermark?: number;
  /** True if ffmpeg can convert HDR to SDR. */
  tonemap: boolean;
  /**
   * Grid frame where the search for frames starts: if the first frame found is later, it is repeated from there. If
   * absent, the frames before it are missing.
   */
  from?: number;
}

interface Graph {
  filter: string;
  /** In the order of `requestedSegments`. */
  pads: string[];
}

/** Grid frames of a segment, `to` excluded. */
export function framesOf(
  { segments: { framesPerSegment, frames } }: Pick<MediaModel, "segments">,
  n: number,
): { from: number; to: number } {
  return { from: n * framesPerSegment, to: Math.min((n + 1) * framesPerSegment, frames) };
}

/** Returns the number of frames in segment n of this rendition. */
export function frameCountOf(
  model: Pick<MediaModel, "segments">,
  { halved }: Pick<VideoRendition, "halved">,
  n: number,
): number {
  const { from, to } = framesOf(model, n);
  return halved === true ? Math.ceil((to - from) / 2) : to - from;
}

/**
 * Returns the filter graph. The source is decoded once, aligned to the frame grid, and scaled down step by step: each
 * smaller rendition is scaled from the next larger one. Frame numbers are absolute, so that they do not depend on where
 * decoding started.
 */
export function videoGraph(
  model: MediaModel,
  requestedSegments: readonly RenditionSegments[],
  options: GraphOptions,
): Graph {
  const order = requestedSegments
    .map((entry, index) => ({ ...entry, index }))
    .sort((a, b) => area(b) - area(a) || Number(a.rendition.halved ?? false) - Number(b.rendition.halved ?? false));
  const allSegments = [...new Set(requestedSegments.flatMap(({ segments }) => [...segments]))].sort((a, b) => a - b);
  const chains: string[] = [];
  let previous: VideoRendition | undefined;
  let from = `[0:${model.video!.stream}]${alignToGrid(model, allSegments, options)},`;
  for (const [step, { rendition, segments, index }] of order.entries()) {
    const largerSource = `${from}${scaleFilters(model, previous, rendition, options)}`;
    const ownSelection = segments.length === allSegments.length ? undefined : selectSegments(model, segments);
    if (step === order.length - 1)
      chains.push(`${largerSource}${ownSelection === undefined ? "" : `,${ownSelection}`}[r${index}]`);
    else if (ownSelection === undefined) chains.push(`${largerSource},split[r${index}][n${step}]`);
    else chains.push(`${largerSource},split[s${step}][n${step}]`, `[s${step}]${ownSelection}[r${index}]`);
    from = `[n${step}]`;
    previous = rendition;
  }
  if (options.watermark !== undefined) chains.push(...watermarkFilters(model, requestedSegments, options.watermark));
  return {
    filter: chains.join(";"),
    pads: requestedSegments.map((_, index) => (options.watermark === undefined ? `[r${index}]` : `[m${index}]`)),
  };
}

const area = ({ rendition: { width, height } }: RenditionSegments) => width * height;

/** Returns the filters from decoder output to the grid frames of these segments. */
function alignToGrid(model: MediaModel, segments: readonly number[], { from: begin }: GraphOptions): string {
  const {
    source,
    video,
    segments: { fps },
  } = model;
  const { from } = framesOf(model, segments[0]!);
  const { to } = framesOf(model, segments.at(-1)!);
  return [
    ...(source.start === 0 ? [] : [`setpts=PTS-${source.start.toFixed(6)}/TB`]),
    ...(video!.interlaced ? ["bwdif=mode=send_frame:parity=auto:deint=interlaced"] : []),
    // The last frame is included, however short its duration in the file.
    `fps=fps=${fps.num}/${fps.den}:round=near:eof_action=pass${begin === undefined ? "" : `:start_time=${((begin * fps.den) / fps.num).toFixed(6)}`}`,
    // If the source ends early, its last frame is repeated to the end of the grid.
    `tpad=stop=${to - (begin ?? from)}:stop_mode=clone`,
    `trim=start_pts=${from}:end_pts=${to}`,
    ...(isRow(segments) ? [] : [selectSegments(model, segments)]),
  ].join(",");
}

const isRow = (segments: readonly number[]) => segments.length === segments.at(-1)! - segments[0]! + 1;

/** Drops the frames of all other segments and keeps the numbers of the rest. */
function selectSegments(model: MediaModel, segments: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const n of segments) {
    const { from, to } = framesOf(model, n);
    const before = ranges.at(-1);
    if (before?.[1] === from) before[1] = to;
    else ranges.push([from, to]);
  }
  return `select='${ranges.map(([from, to]) => `between(pts,${from},${to - 1})`).join("+")}'`;
}

function scaleFilters(
  model: MediaModel,
  previous: VideoRendition | undefined,
  rendition: VideoRendition,
  { tonemap }: GraphOptions,
): string {
  const { width, height, halved } = rendition;
  const frameRateFilters = halved === true && previous?.halved !== true ? ["framestep=2"] : [];
  const isSameSize = previous?.width === width && previous.height === height;
  // Rounding to even numbers changes the aspect ratio slightly: pixel aspect ratios would make players stretch the
  // video.
  const scale = isSameSize ? [] : [`scale=${width}:${height}:flags=bicubic`, "setsar=1"];
  // Scaling precedes tone mapping, which costs as much per pixel as everything else combined.
  const first =
    previous === undefined
      ? [...(model.video!.hdr !== undefined && tonemap ? [toneMapToSdr(model.video!.hdr)] : []), "format=yuv420p"]
      : [];
  return [...frameRateFilters, ...scale, ...first].join(",") || "null";
}

export function toneMapToSdr(hdr: "pq" | "hlg"): string {
  // Defaults from ITU-R BT.2100 for colour properties that the file lacks.
  const zscaleInput = `tin=${hdr === "pq" ? "smpte2084" : "arib-std-b67"}:pin=bt2020:min=bt2020nc:rin=tv`;
  return `zscale=${zscaleInput}:t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=tonemap=hable:desat=0,zscale=t=bt709:m=bt709:r=tv`;
}

function watermarkFilters(model: MediaModel, requestedSegments: readonly RenditionSegments[], input: number): string[] {
  const mark = model.watermark!;
  const splitFilter =
    requestedSegments.length === 1
      ? []
      : [`[${input}:v]split=${requestedSegments.length}${requestedSegments.map((_, i) => `[w${i}]`).join("")}`];
  return [
    ...splitFilter,
    ...requestedSegments.flatMap(({ rendition }, i) => {
      const { x, y, width, height } = watermarkBox(mark, rendition, model.video!);
      return [
        `[${requestedSegments.length === 1 ? `${input}:v` : `w${i}`}]scale=${width}:${height}:flags=bicubic,format=rgba,colorchannelmixer=aa=${mark.opacity.toFixed(3)}[o${i}]`,
        `[r${i}][o${i}]overlay=${x}:${y}:eof_action=repeat,format=yuv420p[m${i}]`,
      ];
    }),
  ];
}
