import { Alert, SegmentedControl, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../../api/client.ts";
import { Chart, type Series } from "../../shared/chart.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { InputFrame } from "./input-frame.tsx";
import { inputPath, liveKeys, type LiveMetrics } from "./queries.ts";

type Sample = LiveMetrics["samples"][number];

const rounded = (value: number) => formatNumber(Math.round(value));
const kilobits = (value: number) => `${rounded(value)} kbit/s`;
const seconds = (value: number) => `${value.toFixed(1)} s`;
const CHARTS: readonly {
  title: string;
  series: readonly { label: string; of: (sample: Sample) => number | null; format?: (value: number) => string }[];
}[] = [
  {
    title: "Bitrate (kbit/s)",
    series: [
      { label: "Video", of: ({ videoBitrate }) => videoBitrate / 1000, format: rounded },
      { label: "Audio", of: ({ audioBitrate }) => audioBitrate / 1000, format: rounded },
    ],
  },
  {
    title: "Frame rate",
    series: [{ label: "Frames per second", of: ({ frameRate }) => frameRate, format: (v) => v.toFixed(1) }],
  },
  {
    title: "Keyframe interval",
    series: [{ label: "Keyframe interval", of: ({ keyFrameInterval }) => keyFrameInterval, format: seconds }],
  },
  {
    title: "Packet loss and dropped frames",
    series: [
      { label: "Lost packets", of: ({ lost }) => lost, format: formatNumber },
      { label: "Dropped frames", of: ({ dropped }) => dropped, format: formatNumber },
    ],
  },
  { title: "Viewers", series: [{ label: "Viewers", of: ({ viewers }) => viewers, format: formatNumber }] },
];

export default function HealthPage() {
  return <InputFrame tab="health">{({ uid }, account) => <Health uid={uid} account={account} />}</InputFrame>;
}

function Health({ uid, account }: { uid: string; account: string }) {
  const [period, setPeriod] = useState("10");
  useLiveEvents(["live_metrics"], [liveKeys.metrics(account, uid), liveKeys.status(account, uid)]);
  const { data, error, refetch } = useQuery({
    queryKey: [...liveKeys.metrics(account, uid), period],
    queryFn: () =>
      api.get("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/metrics", {
        path: inputPath(account, uid),
        query: { minutes: Number(period) },
      }),
  });
  const charts = useMemo(() => {
    const samples = data?.samples ?? [];
    return {
      times: samples.map(({ at }) => Date.parse(at) / 1000),
      list: CHARTS.map(({ title, series }) => ({
        title,
        series: series.map(({ label, of, format }): Series => ({
          label,
          values: samples.map(of),
          ...(format !== undefined && { format }),
        })),
      })),
    };
  }, [data]);
  if (data === undefined)
    return error === null ? <LoadingState rows={6} /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  const last = data.samples.at(-1);
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label="Period"
        w="fit-content"
        data={[
          { value: "10", label: "10 minutes" },
          { value: "30", label: "30 minutes" },
          { value: "60", label: "1 hour" },
        ]}
        value={period}
        onChange={setPeriod}
      />
      {data.warnings.map((warning) => (
        <Alert key={warning} className="rp-alert" data-tone="warning" icon={<Icon name="warning" size={18} />}>
          {warning}
        </Alert>
      ))}
      {last === undefined ? (
        <EmptyState icon="chart" title="No metrics yet">
          The server measures a broadcast every five seconds.
        </EmptyState>
      ) : (
        <>
          <Text fz="sm">
            Video {kilobits(last.videoBitrate / 1000)}, audio {kilobits(last.audioBitrate / 1000)},{" "}
            {last.frameRate.toFixed(1)} frames per second, keyframe interval {seconds(last.keyFrameInterval)},{" "}
            {formatNumber(last.lost)} lost packets
            {last.viewers !== null && `, ${formatNumber(last.viewers)} ${last.viewers === 1 ? "viewer" : "viewers"}`}
          </Text>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            {charts.list.map(({ title, series }) => (
              <section key={title} aria-label={title} className="rp-live-chart">
                <Text fw={500} fz="sm">
                  {title}
                </Text>
                <Chart label={title} times={charts.times} series={series} height={150} />
              </section>
            ))}
          </SimpleGrid>
        </>
      )}
    </Stack>
  );
}
