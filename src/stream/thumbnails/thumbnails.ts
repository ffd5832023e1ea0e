import type { Log } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import type { DeliveryRoute, DeliveryContext } from "../delivery/index.ts";
import { streamErrors } from "../errors.ts";
import type { MediaTools } from "../media/index.ts";
import type { MediaModel, VideoTrack } from "../model.ts";
import type { Video, Videos } from "../videos/index.ts";
import { createImageStore } from "./image-store.ts";
import { storyboardSheet, type Storyboard, storyboardOf, storyboardVtt } from "./sheet.ts";
import { createStills } from "./stills.ts";
import { readImageRequest, type ImageRequest } from "./image-request.ts";

interface Thumbnails {
  /** `thumbnails/thumbnail.jpg`, `.gif`, `thumbnails/storyboard.vtt`, `thumbnails/storyboard-<n>.jpg`. */
  routes: DeliveryRoute[];
  /** Resolves with the default thumbnail, for embedding a video elsewhere. Throws noPictures, notReady, imageFailed. */
  poster(video: Video): Promise<ObjectHandle>;
}

interface ThumbnailsDeps {
  tools: MediaTools;
  objects: ObjectStore;
  videos: Pick<Videos, "find">;
  log: Log;
  /** Maximum number of stored images per video. */
  maxStoredImages?: number;
}

/** In seconds. Images at the video's default timestamp change when the timestamp does. */
const CACHE_SECONDS = { chosen: 300, requested: 24 * 3600 };

/** Default image size for audio, in pixels: 16:9, like most players. */
const AUDIO_IMAGE = { width: 1280, height: 720 };

type ModelWithVideo = MediaModel & { video: VideoTrack };

/** Images of a video, rendered from its source on request, so they are available before anything is encoded. */
export function createThumbnails({ tools, objects, videos, log, maxStoredImages }: ThumbnailsDeps): Thumbnails {
  const stills = createStills({ tools, objects });
  const store = createImageStore({
    objects,
    exists: async (uid) => (await videos.find(uid)) !== undefined,
    log,
    ...(maxStoredImages !== undefined && { maxStoredImages }),
  });

  const image = (video: Video, model: ModelWithVideo, image: ImageRequest) =>
    store.get(video.uid, nameOf(image), () => stills.thumbnail(model, image, { isPart: isPart(video) }));
  const imageRequestOf = (
    { thumbnailTimestampPct }: Video,
    model: ModelWithVideo,
    query: URLSearchParams,
    isAnimated: boolean,
  ) =>
    readImageRequest(query, model.video, {
      duration: model.duration,
      defaultTime: thumbnailTimestampPct * model.duration,
      isAnimated,
    });

  /** Embedded cover or waveform of an audio-only video. */
  const audioImageOf = (video: Video, model: MediaModel, query: URLSearchParams) => {
    const { width, height } = readImageRequest(query, AUDIO_IMAGE, { duration: 0, defaultTime: 0, isAnimated: false });
    return store.get(video.uid, `audio-${width}x${height}.jpg`, () => stills.audio(model, { width, height }));
  };

  const thumbnail =
    (isAnimated: boolean) =>
    async ({ video, query, sendObject }: DeliveryContext) => {
      if (!isAnimated && isAudioOnly(video))
        return sendObject(await audioImageOf(video, video.model, query), {
          type: "image/jpeg",
          cache: CACHE_SECONDS.requested,
        });
      const model = requireVideo(video);
      const storedImage = await image(video, model, imageRequestOf(video, model, query, isAnimated));
      await sendObject(storedImage, {
        type: isAnimated ? "image/gif" : "image/jpeg",
        cache: query.has("time") ? CACHE_SECONDS.requested : CACHE_SECONDS.chosen,
      });
    };

  return {
    routes: [
      { path: "thumbnails/thumbnail.jpg", purpose: "play", handle: thumbnail(false) },
      { path: "thumbnails/thumbnail.gif", purpose: "play", handle: thumbnail(true) },
      {
        path: "thumbnails/storyboard.vtt",
        purpose: "play",
        async handle({ video, sendText }) {
          const model = requireVideo(video);
          sendText(
            storyboardVtt(boardOf(model), model.duration, (sheet) => `storyboard-${sheet}.jpg`),
            { type: "text/vtt; charset=utf-8", cache: CACHE_SECONDS.requested },
          );
        },
      },
      {
        path: "thumbnails/storyboard-{sheet}.jpg",
        purpose: "play",
        async handle({ video, params, sendObject }) {
          const model = requireVideo(video);
          const sheet = /^\d{1,4}$/.test(params["sheet"]!)
            ? storyboardSheet(boardOf(model), Number(params["sheet"]))
            : undefined;
          if (sheet === undefined) throw streamErrors.videoNotFound({ uid: video.uid });
          await sendObject(
            await store.get(video.uid, `storyboard-${sheet.number}.jpg`, () =>
              stills.sheet(model, sheet, { isPart: isPart(video) }),
            ),
            { type: "image/jpeg", cache: CACHE_SECONDS.requested },
          );
        },
      },
    ],
    async poster(video) {
      if (isAudioOnly(video)) return audioImageOf(video, video.model, new URLSearchParams());
      const model = requireVideo(video);
      return image(video, model, imageRequestOf(video, model, new URLSearchParams(), false));
    },
  };
}

const isAudioOnly = (video: Video): video is Video & { model: MediaModel } =>
  video.model !== null && video.model.video === undefined;

/** True for clips: the source contains the whole original video. */
const isPart = ({ clip }: Video): boolean => clip !== undefined;

const boardOf = (model: ModelWithVideo): Storyboard => storyboardOf(model);

function requireVideo({ uid, liveInput, model, state }: Video): ModelWithVideo {
  if (model === null) throw uid === liveInput ? streamErrors.liveNotBegun() : streamErrors.notReady({ state });
  if (model.video === undefined) throw streamErrors.noPictures();
  return { ...model, video: model.video };
}

/** Contains every parameter that affects the image. */
const nameOf = ({ time, width, height, fit, motion }: ImageRequest) =>
  `t${Math.round(time * 100)}-${width}x${height}-${fit}${motion === undefined ? ".jpg" : `-${Math.round(motion.duration * 10)}-${Math.round(motion.fps * 10)}.gif`}`;
