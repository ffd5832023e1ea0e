import { Button, Group, RangeSlider, SimpleGrid, Slider, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { formatTimestamp, parseTime } from "./captions/vtt.ts";
import { Player } from "./player.tsx";
import { hrefOf, nameOf, streamKeys, urlsOf, usePlaybackId, videoPath, type Video } from "./queries.ts";
import { VideoFrame } from "./video-frame.tsx";

export default function ClipPage() {
  return (
    <VideoFrame tab="clip">
      {(video, account) =>
        video.readyToStream && video.duration > 0 ? (
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <ThumbnailPicker key={video.thumbnailTimestampPct} video={video} account={account} />
            <ClipForm video={video} account={account} />
          </SimpleGrid>
        ) : (
          <EmptyState icon="scissors" title="Not playable yet">
            Thumbnails and clips need a video that is ready.
          </EmptyState>
        )
      }
    </VideoFrame>
  );
}

const shortTime = (seconds: number) => formatTimestamp(seconds).replace(/\d\d$/, "");

function ThumbnailPicker({ video, account }: { video: Video; account: string }) {
  const [share, setShare] = useState(video.thumbnailTimestampPct);
  const [shown, setShown] = useState(share);
  const { data: playbackId } = usePlaybackId(account, video);
  const save = useAction(
    () =>
      api.post("/accounts/{account_id}/stream/{identifier}", {
        path: videoPath(account, video.uid),
        body: { thumbnailTimestampPct: share },
      }),
    {
      done: "Thumbnail saved",
      failed: "Could not save the thumbnail",
      invalidates: [streamKeys.video(account, video.uid), streamKeys.videos(account)],
    },
  );
  const time = share * video.duration;
  return (
    <Section title="Thumbnail" description="Shown in lists and in the player before playback.">
      <Stack gap="sm">
        {playbackId !== undefined && (
          <img
            className="rp-stream-preview"
            alt={`Frame at ${shortTime(shown * video.duration)}`}
            src={`${urlsOf(video, playbackId).thumbnail}?time=${(shown * video.duration).toFixed(3)}s&height=360`}
          />
        )}
        <Slider
          thumbLabel="Thumbnail time"
          min={0}
          max={1}
          step={0.001}
          label={(value) => shortTime(value * video.duration)}
          value={share}
          onChange={setShare}
          onChangeEnd={setShown}
        />
        <Group justify="space-between">
          <Text fz="sm" c="dimmed">
            {shortTime(time)} of {shortTime(video.duration)}
          </Text>
          <Button
            variant="default"
            loading={save.isPending}
            disabled={share === video.thumbnailTimestampPct}
            onClick={() => save.mutate()}
          >
            Use as thumbnail
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

function ClipForm({ video, account }: { video: Video; account: string }) {
  const navigate = useNavigate();
  const { duration } = video;
  const [[start, end], setRange] = useState<[number, number]>([0, duration]);
  const [name, setName] = useState(`Clip of ${nameOf(video)}`);
  const create = useAction(
    () =>
      api.post("/accounts/{account_id}/stream/clip", {
        path: { account_id: account },
        body: { clippedFromVideoUID: video.uid, startTimeSeconds: start, endTimeSeconds: end, meta: { name } },
      }),
    {
      done: "Clip created",
      failed: "Could not create the clip",
      invalidates: [streamKeys.videos(account)],
      onDone: (clip) => void navigate({ to: hrefOf(clip) }),
    },
  );
  const fields = [
    { label: "Start", value: start, set: (value: number) => setRange([Math.min(value, end), end]) },
    { label: "End", value: end, set: (value: number) => setRange([start, Math.max(value, start)]) },
  ];
  return (
    <Section title="Clip" description="A clip is a separate video. The source video does not change.">
      <Stack gap="sm">
        <Player video={video} account={account} at={Math.floor(start)} />
        <RangeSlider
          thumbFromLabel="Start"
          thumbToLabel="End"
          min={0}
          max={duration}
          step={0.1}
          minRange={0.1}
          label={shortTime}
          value={[start, end]}
          onChange={setRange}
        />
        <Group grow>
          {fields.map(({ label, value, set }) => (
            <TextInput
              key={`${label} ${value}`}
              label={label}
              defaultValue={shortTime(value)}
              onBlur={({ currentTarget }) => {
                const time = parseTime(currentTarget.value);
                set(time === undefined ? value : Math.min(time, duration));
              }}
            />
          ))}
        </Group>
        <TextInput label="Clip name" value={name} onChange={({ currentTarget }) => setName(currentTarget.value)} />
        <Group justify="space-between">
          <Text fz="sm" c="dimmed">
            Duration {shortTime(end - start)}
          </Text>
          <Button loading={create.isPending} disabled={end <= start} onClick={() => create.mutate()}>
            Create clip
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}
