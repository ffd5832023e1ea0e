import { queryOptions, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";

export type Video = ResultOf<"GET", "/accounts/{account_id}/stream/{identifier}">;
export type Caption = ResultOf<"GET", "/accounts/{account_id}/stream/{identifier}/captions">[number];
export type AudioTrack = ResultOf<"GET", "/accounts/{account_id}/stream/{identifier}/audio">["audio"][number];
export type Encoding = ResultOf<"GET", "/accounts/{account_id}/stream/{identifier}/encoding">;
export type Watermark = ResultOf<"GET", "/accounts/{account_id}/stream/watermarks">[number];
export type SigningKey = ResultOf<"GET", "/accounts/{account_id}/stream/keys">[number];
export type Webhook = ResultOf<"GET", "/accounts/{account_id}/stream/webhook/endpoints">[number];
export type Delivery = ResultOf<
  "GET",
  "/accounts/{account_id}/stream/webhook/endpoints/{webhook_id}/deliveries"
>[number];

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const streamKeys = {
  videos: (account: string) => ["stream", account, "videos"] as const,
  video: (account: string, uid: string) => ["stream", account, "video", uid] as const,
  watermarks: (account: string) => ["stream", account, "watermarks"] as const,
  keys: (account: string) => ["stream", account, "keys"] as const,
  webhooks: (account: string) => ["stream", account, "webhooks"] as const,
  usage: (account: string) => ["stream", account, "usage"] as const,
};

export const videoPath = (account: string, uid: string) => ({ account_id: account, identifier: uid });

export const videoQuery = (account: string, uid: string) =>
  queryOptions({
    queryKey: [...streamKeys.video(account, uid), "details"],
    queryFn: () => api.get("/accounts/{account_id}/stream/{identifier}", { path: videoPath(account, uid) }),
  });

/** Progress and renditions, polled every two seconds while the server processes the video. */
export const encodingQuery = (account: string, uid: string) =>
  queryOptions({
    queryKey: [...streamKeys.video(account, uid), "encoding"],
    queryFn: () => api.get("/accounts/{account_id}/stream/{identifier}/encoding", { path: videoPath(account, uid) }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isProcessing(data.state) ? 2000 : false),
  });

/** True while the server downloads or encodes the video. */
export const isProcessing = (state: string): boolean => ["downloading", "queued", "inprogress"].includes(state);

/** Returns the name that the owner gave to the video. */
export function nameOf({ meta, uid }: Pick<Video, "meta" | "uid">): string {
  const { name, filename } = meta as { name?: unknown; filename?: unknown };
  for (const text of [name, filename]) if (typeof text === "string" && text.trim() !== "") return text;
  return uid;
}

export const hrefOf = ({ uid }: Pick<Video, "uid">) => `/stream/${uid}`;

/** Returns the public URLs of a video. `id`: the uid, or a signed token in its place. */
export function urlsOf({ uid, playback }: Pick<Video, "uid" | "playback">, id = uid) {
  const base = `${playback.hls.slice(0, playback.hls.lastIndexOf(`/${uid}/`))}/${id}`;
  return {
    player: `${base}/iframe`,
    watch: `${base}/watch`,
    hls: `${base}/manifest/video.m3u8`,
    dash: `${base}/manifest/video.mpd`,
    thumbnail: `${base}/thumbnails/thumbnail.jpg`,
    animation: `${base}/thumbnails/thumbnail.gif`,
  };
}

const TOKEN_SECONDS = 3600;

/** Returns the id for playback in the dashboard: the uid, or a token that is valid for an hour. */
export function usePlaybackId(account: string, video: Video): UseQueryResult<string> {
  return useQuery({
    queryKey: [...streamKeys.video(account, video.uid), "token", video.requireSignedURLs],
    queryFn: async () =>
      video.requireSignedURLs
        ? (
            await api.post("/accounts/{account_id}/stream/{identifier}/token", {
              path: videoPath(account, video.uid),
              body: { exp: Math.floor(Date.now() / 1000) + TOKEN_SECONDS },
            })
          ).token
        : video.uid,
    staleTime: (TOKEN_SECONDS * 1000) / 2,
  });
}

/** Changes several videos one after another. Throws the first failure after it has tried all of them. */
export async function forEachVideo(uids: Iterable<string>, change: (uid: string) => Promise<unknown>): Promise<number> {
  let done = 0;
  let failure: unknown;
  for (const uid of uids)
    try {
      await change(uid);
      done++;
    } catch (error) {
      failure ??= error;
    }
  if (failure !== undefined) throw failure;
  return done;
}
