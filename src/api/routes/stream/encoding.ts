import { z } from "@hono/zod-openapi";
import type { Clock } from "../../../kernel/index.ts";
import type { Video, Videos } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";

interface StreamEncodingDeps {
  videos: Pick<Videos, "get">;
  clock: Pick<Clock, "now">;
}

const text = z.string().nullable();
const number = z.number().nullable();

const encodingSchema = z.object({
  state: z.string(),
  step: text,
  percent: z.number(),
  secondsLeft: number,
  source: z
    .object({
      format: z.string(),
      size: z.number(),
      duration: z.number(),
      video: z
        .object({
          codec: z.string(),
          profile: text,
          pixelFormat: z.string(),
          width: z.number(),
          height: z.number(),
          frameRate: z.number(),
          bitrate: z.number(),
          keyFrameInterval: z.number(),
          hdr: text,
          passthrough: z.boolean(),
        })
        .nullable(),
      audio: z
        .object({ codec: z.string(), channels: z.number(), sampleRate: z.number(), passthrough: z.boolean() })
        .nullable(),
    })
    .nullable(),
  renditions: z.array(
    z.object({
      name: z.string(),
      codec: z.string(),
      width: z.number(),
      height: z.number(),
      bitrate: z.number(),
    }),
  ),
  segments: z.object({ count: z.number().int(), seconds: z.number() }).nullable(),
  log: z.array(z.object({ at: text, event: z.string(), text: z.string() })),
});

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

/** Returns the remaining time, if encoding continues at its pace so far; null before the first percent is complete. */
function secondsLeft({ state, pctComplete, uploaded }: Video, now: number): number | null {
  if (state !== "inprogress" || uploaded === null || pctComplete < 1) return null;
  return Math.round(((now - uploaded) / 1000) * ((100 - pctComplete) / pctComplete));
}

function logOf(video: Video): z.input<typeof encodingSchema>["log"] {
  const { created, uploaded, readyToStreamAt, modified, state, errorReason, model, clippedFrom, liveInput } = video;
  return [
    {
      at: iso(created),
      event: "created",
      text:
        clippedFrom !== undefined
          ? `Created as a clip of ${clippedFrom}`
          : liveInput !== undefined
            ? `Recorded from the live input ${liveInput}`
            : "Created",
    },
    ...(uploaded === null ? [] : [{ at: iso(uploaded), event: "uploaded", text: "The last byte arrived" }]),
    ...(model === null
      ? []
      : [
          {
            at: null,
            event: "probed",
            text: `${model.ladder.length} renditions, ${model.segments.count} segments, ${model.duration.toFixed(1)} s`,
          },
        ]),
    ...(readyToStreamAt === null ? [] : [{ at: iso(readyToStreamAt), event: "playable", text: "Ready to stream" }]),
    ...(state === "ready" ? [{ at: iso(modified), event: "ready", text: "All renditions are encoded" }] : []),
    ...(errorReason === undefined
      ? []
      : [{ at: iso(modified), event: "failed", text: `${errorReason.code}: ${errorReason.text}` }]),
  ];
}

/** How a video is encoded: its source, its renditions, and what has happened so far. */
export const streamEncodingRoutes = ({ videos, clock }: StreamEncodingDeps): Route[] => [
  route(
    {
      id: "stream-video-encoding",
      method: "get",
      path: "/accounts/{account_id}/stream/{identifier}/encoding",
      tag: "Stream Videos",
      summary: "Get source, renditions, progress and encoding log of a video",
      permission: "Stream Read",
      result: encodingSchema,
    },
    async ({ params }) => {
      const video = await videos.get(params.account_id!, params.identifier!);
      const { model } = video;
      const rate = model && model.segments.fps.num / model.segments.fps.den;
      return respond({
        state: video.state,
        step: video.step ?? null,
        percent: video.pctComplete,
        secondsLeft: secondsLeft(video, clock.now()),
        source: model && {
          format: model.source.format,
          size: video.size,
          duration: model.duration,
          video:
            model.video === undefined
              ? null
              : {
                  codec: model.video.codec,
                  profile: model.video.profile ?? null,
                  pixelFormat: model.video.pixelFormat,
                  width: model.video.width,
                  height: model.video.height,
                  frameRate: rate!,
                  bitrate: model.video.bitrate,
                  keyFrameInterval: model.video.keyframeInterval,
                  hdr: model.video.hdr ?? null,
                  passthrough: model.video.passthrough,
                },
          audio:
            model.audio === undefined
              ? null
              : {
                  codec: model.audio.codec,
                  channels: model.audio.channels,
                  sampleRate: model.audio.sampleRate,
                  passthrough: model.audio.passthrough,
                },
        },
        renditions: (model?.ladder ?? []).map(({ name, codec, width, height, bitrate }) => ({
          name,
          codec,
          width,
          height,
          bitrate,
        })),
        segments: model && {
          count: model.segments.count,
          seconds: model.segments.framesPerSegment / rate!,
        },
        log: logOf(video),
      });
    },
  ),
];
