import { SegmentedControl, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { CodeView } from "../../shared/code-view.tsx";
import { CopyField } from "../../shared/copy.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { Section } from "../../shared/page.tsx";
import { SecretField } from "../../shared/secret-field.tsx";
import { InputFrame } from "./input-frame.tsx";
import { Preview } from "./preview.tsx";
import { playerOf, statusQuery, type LiveInput } from "./queries.ts";

export default function InputPage() {
  return (
    <InputFrame tab="overview">
      {(input, account) => (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
          <Stack gap="md">
            <Preview input={input} account={account} />
            <Details input={input} account={account} />
            <Section title="Playback URLs">
              <Stack gap="xs">
                <CopyField label="Player" value={playerOf(input)} />
                <CopyField label="HLS manifest" value={input.playback.hls} />
                <CopyField label="DASH manifest" value={input.playback.dash} />
                <CopyField label="WebRTC (WHEP)" value={input.webRTCPlayback.url} />
              </Stack>
            </Section>
          </Stack>
          <Connect key={input.keysRotatedAt} input={input} />
        </SimpleGrid>
      )}
    </InputFrame>
  );
}

function Details({ input, account }: { input: LiveInput; account: string }) {
  const { data: status } = useQuery(statusQuery(account, input.uid));
  const days = input.deleteRecordingAfterDays;
  return (
    <Section title="Details">
      <KeyValue
        items={[
          ["Live input ID", <span className="rp-mono">{input.uid}</span>],
          ["Live since", status?.live === true ? <RelativeTime value={status.since} /> : undefined],
          [
            "Recording",
            input.recording.mode === "off" ? "Off" : days === undefined ? "Automatic" : `Automatic, kept ${days} days`,
          ],
          ["Access", input.recording.requireSignedURLs ? "Signed URLs" : "Public"],
          ["Low latency", input.preferLowLatency ? "On" : "Off"],
          ["Created", <RelativeTime value={input.created} />],
          [
            "Keys rotated",
            input.keysRotatedAt === undefined ? undefined : <RelativeTime value={input.keysRotatedAt} />,
          ],
        ]}
      />
    </Section>
  );
}

type Tool = "obs" | "ffmpeg" | "srt" | "whip";

const RTMP_COMMAND = (url: string) => `ffmpeg -re -i video.mp4 \\
  -c:v libx264 -preset veryfast -b:v 4M -maxrate 4M -bufsize 8M -g 60 -bf 0 -pix_fmt yuv420p \\
  -c:a aac -b:a 128k -ar 48000 \\
  -f flv "${url}"`;
const SRT_COMMAND = (url: string) => `ffmpeg -re -i video.mp4 \\
  -c:v libx264 -preset veryfast -b:v 4M -maxrate 4M -bufsize 8M -g 60 -bf 0 -pix_fmt yuv420p \\
  -c:a aac -b:a 128k -ar 48000 \\
  -f mpegts "${url}"`;

/** The settings of encoders. Keys are hidden until they are requested. */
function Connect({ input }: { input: LiveInput }) {
  const [tool, setTool] = useState<Tool>("obs");
  const rtmp = input.rtmps ?? input.rtmp;
  const { srt, webRTC } = input;
  return (
    <Section title="Connect an encoder">
      <Stack gap="sm">
        <SegmentedControl
          aria-label="Encoder"
          data={[
            { value: "obs", label: "OBS" },
            { value: "ffmpeg", label: "FFmpeg" },
            { value: "srt", label: "SRT" },
            { value: "whip", label: "WHIP" },
          ]}
          value={tool}
          onChange={(value) => setTool(value as Tool)}
        />
        {tool === "obs" &&
          (rtmp === undefined ? (
            <ProtocolUnavailable protocol="RTMP" />
          ) : (
            <>
              <Text fz="sm">
                In OBS, open Settings, Stream. Select the service Custom, and enter the server and the stream key. In
                Output, set the keyframe interval to 2 s.
              </Text>
              <CopyField label="Server" value={rtmp.url} />
              <SecretField label="Stream key" value={rtmp.streamKey} />
              {input.rtmps !== undefined && input.rtmp !== undefined && (
                <CopyField label="Server without encryption" value={input.rtmp.url} />
              )}
            </>
          ))}
        {tool === "ffmpeg" &&
          (rtmp === undefined ? (
            <ProtocolUnavailable protocol="RTMP" />
          ) : (
            <>
              <Text fz="sm">Replace STREAM_KEY with the stream key.</Text>
              <CodeView label="FFmpeg command" text={RTMP_COMMAND(`${rtmp.url}STREAM_KEY`)} wrap />
              <SecretField label="Stream key" value={rtmp.streamKey} />
            </>
          ))}
        {tool === "srt" &&
          (srt === undefined ? (
            <ProtocolUnavailable protocol="SRT" />
          ) : (
            <>
              <Text fz="sm">Replace STREAM_ID and PASSPHRASE.</Text>
              <CodeView
                label="FFmpeg command"
                text={SRT_COMMAND(`${srt.url}?streamid=STREAM_ID&passphrase=PASSPHRASE`)}
                wrap
              />
              <CopyField label="URL" value={srt.url} />
              <SecretField label="Stream ID" value={srt.streamId} />
              <SecretField label="Passphrase" value={srt.passphrase} />
            </>
          ))}
        {tool === "whip" && (
          <>
            <Text fz="sm">
              In OBS, select the service WHIP and enter the URL as the server. Leave the bearer token empty. To
              broadcast from this browser, select Go live.
            </Text>
            <SecretField label="WHIP URL" value={webRTC.url} />
          </>
        )}
      </Stack>
    </Section>
  );
}

const ProtocolUnavailable = ({ protocol }: { protocol: string }) => (
  <Text fz="sm" c="dimmed">
    {protocol} is not enabled on this server.
  </Text>
);
