import { Stack } from "@mantine/core";
import { AudioTracks } from "./audio-tracks.tsx";
import { Captions } from "./captions/captions.tsx";
import { VideoFrame } from "./video-frame.tsx";

export default function TracksPage() {
  return (
    <VideoFrame tab="tracks">
      {({ uid }, account) => (
        <Stack gap="lg">
          <Captions account={account} uid={uid} />
          <AudioTracks account={account} uid={uid} />
        </Stack>
      )}
    </VideoFrame>
  );
}
