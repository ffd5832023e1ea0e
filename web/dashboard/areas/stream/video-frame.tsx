import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccount } from "../../api/account.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { PageTabs } from "../../shared/page-tabs.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { nameOf, streamKeys, videoQuery, type Video } from "./queries.ts";
import { VIDEO_STATES } from "./video-state.tsx";

const PARENTS = [{ label: "Videos", to: "/stream" }];
const TABS = [
  ["overview", "Overview"],
  ["tracks", "Captions and audio"],
  ["clip", "Thumbnail and clip"],
  ["access", "Access"],
  ["encoding", "Encoding"],
] as const;

/** The frame of the pages of one video. */
export function VideoFrame({
  tab,
  actions,
  children,
}: {
  tab: (typeof TABS)[number][0];
  actions?: (video: Video) => ReactNode;
  children: (video: Video, account: string) => ReactNode;
}) {
  const { videoId = "" }: { videoId?: string } = useParams({ strict: false });
  const { id: account } = useAccount();
  const { data: video, error, refetch } = useQuery(videoQuery(account, videoId));
  useLiveEvents(["videos"], [streamKeys.video(account, videoId)]);
  if (video === undefined)
    return (
      <Page title="Video" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const { tone, text } = VIDEO_STATES[video.status.state];
  return (
    <Page
      title={nameOf(video)}
      badge={<StatusBadge tone={tone}>{text}</StatusBadge>}
      parents={PARENTS}
      actions={actions?.(video)}
    >
      <PageTabs base={`/stream/${video.uid}`} tabs={TABS} current={tab}>
        {children(video, account)}
      </PageTabs>
    </Page>
  );
}
