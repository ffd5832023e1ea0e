import { Button, Group, SimpleGrid, Stack, Switch, TagsInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { streamKeys, videoPath, type Video } from "./queries.ts";
import { SignedUrlForm } from "./signed-url-form.tsx";
import { VideoFrame } from "./video-frame.tsx";

export default function AccessPage() {
  return (
    <VideoFrame tab="access">
      {(video, account) => (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
          <AccessForm key={video.modified} video={video} account={account} />
          <SignedUrlForm video={video} account={account} />
        </SimpleGrid>
      )}
    </VideoFrame>
  );
}

function AccessForm({ video, account }: { video: Video; account: string }) {
  const [isSigned, setSigned] = useState(video.requireSignedURLs);
  const [origins, setOrigins] = useState(video.allowedOrigins);
  const save = useAction(
    () =>
      api.post("/accounts/{account_id}/stream/{identifier}", {
        path: videoPath(account, video.uid),
        body: { requireSignedURLs: isSigned, allowedOrigins: origins },
      }),
    {
      done: "Access settings saved",
      failed: "Could not save the access settings",
      invalidates: [streamKeys.video(account, video.uid), streamKeys.videos(account)],
    },
  );
  return (
    <Section title="Playback access">
      <Stack gap="md">
        <Switch
          label="Require signed URLs"
          description="Viewers need a signed token. The video ID alone does not work."
          checked={isSigned}
          onChange={({ currentTarget }) => setSigned(currentTarget.checked)}
        />
        <TagsInput
          label="Allowed origins"
          description="Hosts that may embed the video, for example example.com or *.example.com. Leave this empty to allow all hosts."
          placeholder={origins.length === 0 ? "example.com" : ""}
          value={origins}
          onChange={setOrigins}
        />
        <Group>
          <Button variant="default" loading={save.isPending} onClick={() => save.mutate()}>
            Save access settings
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}
