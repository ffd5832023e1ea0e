import { Progress, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useAccount } from "../../api/account.ts";
import { queryClient } from "../../api/query-client.ts";
import { formatDuration } from "../../shared/format.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { encodingQuery, isProcessing, streamKeys, type Video } from "./queries.ts";

export const VIDEO_STATES: Record<Video["status"]["state"], { tone: Tone; text: string }> = {
  pendingupload: { tone: "neutral", text: "Waiting for upload" },
  downloading: { tone: "info", text: "Downloading" },
  queued: { tone: "neutral", text: "Queued" },
  inprogress: { tone: "info", text: "Processing" },
  ready: { tone: "good", text: "Ready" },
  error: { tone: "bad", text: "Failed" },
  "live-inprogress": { tone: "info", text: "Live" },
};

/** The status in a badge and, while the server processes the video, its progress and the time left. */
export function VideoState({ video }: { video: Video }) {
  const { state, errorReasonText } = video.status;
  const { tone, text } = VIDEO_STATES[state];
  return (
    <div className="rp-stream-state">
      <StatusBadge tone={tone}>{text}</StatusBadge>
      {isProcessing(state) && <EncodingProgress video={video} />}
      {state === "error" && errorReasonText !== "" && (
        <Text fz="xs" c="dimmed">
          {errorReasonText}
        </Text>
      )}
    </div>
  );
}

function EncodingProgress({ video: { uid, status } }: { video: Video }) {
  const { id: account } = useAccount();
  const { data } = useQuery(encodingQuery(account, uid));
  const isDone = data !== undefined && !isProcessing(data.state);
  useEffect(() => {
    if (!isDone) return;
    void queryClient.invalidateQueries({ queryKey: streamKeys.videos(account) });
    void queryClient.invalidateQueries({ queryKey: [...streamKeys.video(account, uid), "details"] });
  }, [isDone, account, uid]);

  const percent = Math.floor(data?.percent ?? Number(status.pctComplete || 0));
  const left = data?.secondsLeft ?? null;
  return (
    <>
      <Progress value={percent} size="xs" aria-label="Encoding progress" />
      <Text fz="xs" c="dimmed">
        {percent}%{left !== null && `, ${formatDuration(Math.max(1, Math.round(left)))} left`}
      </Text>
    </>
  );
}
