import type { Ref } from "react";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { nameOf, urlsOf, usePlaybackId, type Video } from "./queries.ts";
import { VideoState } from "./video-state.tsx";

/** The server's own player, as on the pages that embed the video. */
export function Player({
  video,
  account,
  at,
  frame,
}: {
  video: Video;
  account: string;
  at?: number;
  frame?: Ref<HTMLIFrameElement>;
}) {
  const { data: playbackId, error } = usePlaybackId(account, video);
  if (!video.readyToStream)
    return (
      <EmptyState icon="video" title="Not playable yet">
        <VideoState video={video} />
      </EmptyState>
    );
  if (error !== null) return <ErrorState error={error} title="Could not sign a URL for the player" />;
  if (playbackId === undefined) return <LoadingState rows={6} />;
  return (
    <iframe
      ref={frame}
      className="rp-stream-player"
      title={`Player for ${nameOf(video)}`}
      src={`${urlsOf(video, playbackId).player}${at === undefined ? "" : `?startTime=${at}s`}`}
      style={{ aspectRatio: ratioOf(video) }}
      allow="autoplay; fullscreen; picture-in-picture; encrypted-media"
      allowFullScreen
    />
  );
}

/** Returns the aspect ratio of the player. Portrait videos get 16:9, because they would be taller than the window. */
function ratioOf({ input: { width, height } }: Video): string {
  return width > 0 && height > 0 && width >= height ? `${width} / ${height}` : "16 / 9";
}
