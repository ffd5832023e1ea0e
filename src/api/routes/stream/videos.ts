import { z } from "@hono/zod-openapi";
import {
  showVideo,
  streamErrors,
  type CreatedBound,
  type ListedVideo,
  type StreamUrls,
  type VideoCatalog,
  type VideoFilter,
  type Videos,
} from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { videoListQuery, videoSchema, videoUpdateBody } from "./video-schemas.ts";

interface StreamVideosDeps {
  videos: Pick<Videos, "get" | "edit" | "delete"> & Pick<VideoCatalog, "list" | "count">;
  urls: StreamUrls;
}

const tag = "Stream Videos";
const VIDEOS_PATH = "/accounts/{account_id}/stream";
const VIDEO_PATH = `${VIDEOS_PATH}/{identifier}`;
const [READ, WRITE] = ["Stream Read", "Stream Write"] as const;
const DEFAULT_PLAYER_SIZE = { width: 1280, height: 720 };

export function streamVideosRoutes({ videos, urls }: StreamVideosDeps): Route[] {
  const videoKeyOf = ({ account_id, identifier }: Record<string, string>): [account: string, uid: string] => [
    account_id!,
    identifier!,
  ];
  const show = (video: ListedVideo) => showVideo(video, urls);

  return [
    route(
      {
        id: "stream-videos-list-videos",
        method: "get",
        path: VIDEOS_PATH,
        tag,
        summary: "List videos, newest first",
        permission: READ,
        translate: toBadParameter,
        query: videoListQuery,
        result: z.array(videoSchema),
      },
      async ({ params, query }) => {
        const filter = filterOf(query);
        const [listedVideos, counts] = await Promise.all([
          videos.list(params.account_id!, filter),
          query.include_counts === true ? videos.count(params.account_id!, filter) : undefined,
        ]);
        return respond(listedVideos.map(show), counts === undefined ? {} : { extraFields: counts });
      },
    ),
    route(
      {
        id: "stream-videos-retrieve-video-details",
        method: "get",
        path: VIDEO_PATH,
        tag,
        summary: "Get a video",
        permission: READ,
        result: videoSchema,
      },
      async ({ params }) => respond(show(await videos.get(...videoKeyOf(params)))),
    ),
    route(
      {
        id: "stream-videos-update-video-details",
        method: "post",
        path: VIDEO_PATH,
        tag,
        summary: "Update a video",
        permission: WRITE,
        translate: toBadParameter,
        body: videoUpdateBody,
        result: videoSchema,
      },
      async ({ params, body: { uid, publicDetails, ...givenFields } }) => {
        if (uid != null && uid !== params.identifier)
          throw streamErrors.badParameter({
            reason: `uid is ${JSON.stringify(uid.slice(0, 100))}, but the video in the URL is ${params.identifier}`,
          });
        return respond(
          show(
            await videos.edit(...videoKeyOf(params), {
              ...pickDefined(givenFields),
              ...(publicDetails && { publicDetails: pickDefined(publicDetails) }),
            }),
          ),
        );
      },
    ),
    route(
      {
        id: "stream-videos-delete-video",
        method: "delete",
        path: VIDEO_PATH,
        tag,
        summary: "Delete a video and all its files",
        permission: WRITE,
      },
      async ({ params }) => {
        await videos.delete(...videoKeyOf(params));
        // The published response has no body.
        return new Response(null, { status: 200 });
      },
    ),
    route(
      {
        id: "stream-videos-retreieve-embed-code-html",
        method: "get",
        path: `${VIDEO_PATH}/embed`,
        tag,
        summary: "Get the HTML code to embed a video",
        permission: READ,
        raw: "text/html",
      },
      async ({ params }) => {
        const video = await videos.get(...videoKeyOf(params));
        return new Response(embedHtml(urls.of(video).iframe, video.input), {
          headers: { "content-type": "text/html; charset=utf-8" },
        });
      },
    ),
  ];
}

type DefinedFields<Given> = { [Name in keyof Given]?: Exclude<Given[Name], undefined> };
/** Omits undefined fields. */
const pickDefined = <Given extends object>(fields: Given): DefinedFields<Given> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<Given>;

function filterOf({
  status,
  creator,
  type,
  search,
  video_name: name,
  name: names,
  id: ids,
  live_input_id: liveInput,
  start,
  after,
  end,
  before,
  asc,
  limit,
  page,
  per_page,
}: z.output<typeof videoListQuery>): VideoFilter {
  const bounds: [CreatedBound["op"], number | undefined][] = [
    ["gte", start],
    ["gte", after],
    ["lt", end],
    ["lt", before],
  ];
  const size = limit ?? per_page ?? 1000;
  return {
    ...pickDefined({ creator, type, search, name, liveInput, asc }),
    // An empty list means no filter, as an empty form field does.
    ...(status?.length && { states: status }),
    ...(names?.length && { names }),
    ...(ids?.length && { ids }),
    created: bounds.flatMap(([op, at]) => (at === undefined ? [] : [{ op, at }])),
    limit: size,
    offset: (page - 1) * size,
  };
}

/** Keeps the aspect ratio at any page width. */
function embedHtml(iframe: string, { width, height }: { width: number; height: number }): string {
  const shape = width > 0 && height > 0 ? { width, height } : DEFAULT_PLAYER_SIZE;
  const src = iframe.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<div style="position: relative; padding-top: ${((shape.height / shape.width) * 100).toFixed(4)}%"><iframe src="${src}" style="border: none; position: absolute; top: 0; left: 0; height: 100%; width: 100%" allow="accelerometer; gyroscope; autoplay; encrypted-media; picture-in-picture;" allowfullscreen="true"></iframe></div>`;
}
