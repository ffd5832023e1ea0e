import { Progress, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatBytes, formatDuration, formatNumber, formatTime } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { encodingQuery, isProcessing, type Encoding } from "./queries.ts";
import { VideoFrame } from "./video-frame.tsx";

type Rendition = Encoding["renditions"][number];

/** `2 s`, `4.2 s` */
const secondsText = (seconds: number) => `${Number(seconds.toFixed(1))} s`;

export default function EncodingPage() {
  return (
    <VideoFrame tab="encoding">{({ uid }, account) => <EncodingDetails uid={uid} account={account} />}</VideoFrame>
  );
}

function EncodingDetails({ uid, account }: { uid: string; account: string }) {
  const { data, error, refetch } = useQuery(encodingQuery(account, uid));
  if (data === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  const { state, percent, secondsLeft, source, renditions, segments, log } = data;
  return (
    <Stack gap="lg">
      {isProcessing(state) && (
        <div>
          <Progress value={Math.floor(percent)} aria-label="Encoding progress" />
          <Text fz="sm" c="dimmed" mt={4}>
            {Math.floor(percent)}%{secondsLeft !== null && `, ${formatDuration(Math.round(secondsLeft))} left`}
          </Text>
        </div>
      )}
      {source !== null && <Source source={source} />}
      <Section
        title="Renditions"
        {...(segments !== null && {
          description: `${segments.count === 1 ? "1 segment" : `${formatNumber(segments.count)} segments`} of about ${secondsText(segments.seconds)} each`,
        })}
      >
        <DataTable
          label="Renditions"
          columns={COLUMNS}
          list={{ items: renditions, isLoading: false, error: null }}
          rowKey={({ name }) => name}
          empty={<EmptyState icon="video" title="No renditions yet" />}
        />
      </Section>
      <Section title="Encoding log">
        <div className="rp-table-frame">
          <Table className="rp-table" aria-label="Encoding log">
            <Table.Tbody>
              {log.map(({ at, event, text }, index) => (
                <Table.Tr key={index}>
                  <Table.Td w={220} className="rp-dimmed rp-nowrap">
                    {at === null ? "" : formatTime(at)}
                  </Table.Td>
                  <Table.Td w={160}>{event}</Table.Td>
                  <Table.Td>{text}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      </Section>
    </Stack>
  );
}

function Source({ source: { format, size, duration, video, audio } }: { source: NonNullable<Encoding["source"]> }) {
  return (
    <Section title="Source">
      <KeyValue
        items={[
          ["Format", `${format}, ${formatBytes(size)}, ${formatDuration(duration)}`],
          [
            "Video",
            video &&
              [
                video.codec,
                video.profile,
                `${video.width} × ${video.height}`,
                `${Number(video.frameRate.toFixed(3))} fps`,
                video.bitrate > 0 && `${formatNumber(Math.round(video.bitrate / 1000))} kbit/s`,
                video.pixelFormat,
                video.hdr,
                video.passthrough && "delivered without encoding",
              ]
                .filter(Boolean)
                .join(", "),
          ],
          ["Keyframe interval", video && secondsText(video.keyFrameInterval)],
          [
            "Audio",
            audio &&
              [
                audio.codec,
                `${audio.channels} ${audio.channels === 1 ? "channel" : "channels"}`,
                `${formatNumber(audio.sampleRate)} Hz`,
                audio.passthrough && "delivered without encoding",
              ]
                .filter(Boolean)
                .join(", "),
          ],
        ]}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<Rendition>[] = [
  { id: "name", header: "Rendition", render: ({ name }) => name },
  { id: "codec", header: "Codec", render: ({ codec }) => <span className="rp-mono">{codec}</span> },
  {
    id: "size",
    header: "Resolution",
    render: ({ width, height }) => (width > 0 ? `${width} × ${height}` : "–"),
  },
  {
    id: "bitrate",
    header: "Bitrate",
    align: "end",
    render: ({ bitrate }) => `${formatNumber(Math.round(bitrate / 1000))} kbit/s`,
  },
];
