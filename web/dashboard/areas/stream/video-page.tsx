import { SimpleGrid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { CopyField } from "../../shared/copy.tsx";
import { Bytes, Duration, RelativeTime } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { Section } from "../../shared/page.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { Chapters } from "./chapters/chapters.tsx";
import { Downloads } from "./downloads.tsx";
import { Player } from "./player.tsx";
import { nameOf, streamKeys, urlsOf, videoPath, type Video } from "./queries.ts";
import { VideoForm } from "./video-form.tsx";
import { VideoFrame } from "./video-frame.tsx";

export default function VideoPage() {
  return (
    <VideoFrame tab="overview" actions={(video) => <DeleteVideo video={video} />}>
      {(video, account) => <Overview video={video} account={account} />}
    </VideoFrame>
  );
}

function Overview({ video, account }: { video: Video; account: string }) {
  const { data: embedCode } = useQuery({
    queryKey: [...streamKeys.video(account, video.uid), "embed"],
    queryFn: async () => {
      const path = videoPath(account, video.uid);
      return (await api.raw("GET", "/accounts/{account_id}/stream/{identifier}/embed", { path })).text();
    },
    enabled: video.readyToStream,
  });
  const urls = urlsOf(video);
  const player = useRef<HTMLIFrameElement>(null);
  // The player reads the chapters only when it starts, so a new revision reloads it.
  const [revision, setRevision] = useState(0);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <Stack gap="md">
        <Player key={revision} video={video} account={account} frame={player} />
        <Chapters video={video} account={account} player={player} onSaved={() => setRevision(revision + 1)} />
        {embedCode !== undefined && (
          <Section
            title="Embed code"
            {...(video.requireSignedURLs && { description: "Replace the video ID in the URL with a signed token." })}
          >
            <CodeView label="HTML" text={embedCode} wrap />
          </Section>
        )}
        <Downloads video={video} account={account} />
      </Stack>
      <Stack gap="md">
        <Section title="Details">
          <KeyValue
            items={[
              ["Video ID", <span className="rp-mono">{video.uid}</span>],
              ["Duration", <Duration seconds={video.duration} />],
              ["Size", <Bytes value={video.size} />],
              ["Resolution", video.input.width > 0 ? `${video.input.width} × ${video.input.height}` : undefined],
              ["Creator", video.creator],
              ["Created", <RelativeTime value={video.created} />],
              ["Modified", <RelativeTime value={video.modified} />],
              ["Watermark", video.watermark?.name],
            ]}
          />
        </Section>
        <VideoForm key={video.modified} video={video} account={account} />
        <Section title="URLs">
          <Stack gap="xs">
            <CopyField label="Watch page" value={urls.watch} />
            <CopyField label="Player" value={urls.player} />
            <CopyField label="HLS manifest" value={urls.hls} />
            <CopyField label="DASH manifest" value={urls.dash} />
            <CopyField label="Thumbnail" value={urls.thumbnail} />
            <CopyField label="Animated thumbnail" value={urls.animation} />
          </Stack>
        </Section>
      </Stack>
    </SimpleGrid>
  );
}

function DeleteVideo({ video }: { video: Video }) {
  const { id: account } = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  return (
    <ConfirmButton
      action="Delete video"
      onConfirm={async () => {
        await api.delete("/accounts/{account_id}/stream/{identifier}", { path: videoPath(account, video.uid) });
        notify.success(`Video ${nameOf(video)} deleted`);
        await navigate({ to: "/stream" });
        void queryClient.invalidateQueries({ queryKey: streamKeys.videos(account) });
      }}
    >
      The video and all its files will be deleted. Its URLs will stop working.
    </ConfirmButton>
  );
}
