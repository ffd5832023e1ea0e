import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { formatDuration } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { urlsOf, usePlaybackId, type Video } from "./queries.ts";

/** The thumbnail of a video. Decorative: the name of the video is next to it. */
export function Thumbnail({ video, height = 180 }: { video: Video; height?: number }) {
  return (
    <div className="rp-stream-thumbnail">
      {video.readyToStream ? <Picture video={video} height={height} /> : <Icon name="video" size={22} />}
      {video.duration > 0 && <span className="rp-stream-duration">{formatDuration(Math.round(video.duration))}</span>}
    </div>
  );
}

function Picture({ video, height }: { video: Video; height: number }) {
  const { id: account } = useAccount();
  const { data: playbackId } = usePlaybackId(account, video);
  const [isMissing, setMissing] = useState(false);
  if (playbackId === undefined || isMissing) return <Icon name={isMissing ? "lock" : "video"} size={22} />;
  // The time in the URL makes the browser load the picture again after a change.
  const url = `${urlsOf(video, playbackId).thumbnail}?height=${height}&v=${video.thumbnailTimestampPct}`;
  return <img src={url} alt="" loading="lazy" onError={() => setMissing(true)} />;
}
