import { Paper, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useAccount } from "../../api/account.ts";
import { Chart, type Series } from "../../shared/chart.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Section } from "../../shared/page.tsx";
import { countOf } from "../../shared/text.ts";
import { mailMetricsQuery, streamMetricsQuery, workersMetricsQuery } from "./queries.ts";

const CHART_HEIGHT = 140;
/** Axes with small values may have fractional ticks. */
const oneDecimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Hourly metrics of the last 24 hours, one chart for each product. */
export function Charts() {
  return (
    <Section title="Last 24 hours">
      <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="sm" verticalSpacing="sm">
        <MailChart />
        <WorkersChart />
        <StreamChart />
      </SimpleGrid>
    </Section>
  );
}

/** One series for each metric, with its legend label. */
type Lines<Point> = readonly (readonly [label: string, value: (point: Point) => number, color?: string])[];

/** Labels whose singular differs. */
const SINGULARS: Readonly<Record<string, string>> = {
  Requests: "request",
  Errors: "error",
  Views: "view",
  "Minutes viewed": "minute viewed",
};

interface MetricsChartProps<Point> {
  title: string;
  points: readonly Point[] | undefined;
  error: unknown;
  lines: Lines<Point>;
}

function MetricsChart<Point extends { ts: number }>({ title, points, error, lines }: MetricsChartProps<Point>) {
  const times = useMemo(() => points?.map(({ ts }) => ts), [points]);
  const series = useMemo(
    (): Series[] =>
      lines.map(([label, value, color]) => ({
        label,
        values: (points ?? []).map(value),
        format: (metric) => oneDecimal.format(metric),
        ...(color !== undefined && { color }),
      })),
    [points, lines],
  );
  const totals = lines.map(([label, value]) => {
    const total = (points ?? []).reduce((sum, point) => sum + value(point), 0);
    return countOf(Math.round(total), SINGULARS[label] ?? label.toLowerCase(), label.toLowerCase());
  });
  return (
    <Paper>
      <h3 className="rp-home-chart-title">{title}</h3>
      {error !== null && error !== undefined ? (
        <ErrorState error={error} />
      ) : (
        <>
          <Text fz="sm" c="dimmed" mb="xs">
            {points === undefined ? "…" : totals.join(", ")}
          </Text>
          <Chart label={`${title} per hour`} times={times} series={series} height={CHART_HEIGHT} />
        </>
      )}
    </Paper>
  );
}

const MAIL_LINES: Lines<{ received: number; sent: number; rejected: number }> = [
  ["Received", ({ received }) => received],
  ["Sent", ({ sent }) => sent],
  ["Rejected", ({ rejected }) => rejected, "--rp-bad"],
];

function MailChart() {
  const { data, error } = useQuery(mailMetricsQuery(useAccount().id));
  return <MetricsChart title="Mail" points={data?.series} error={error} lines={MAIL_LINES} />;
}

const WORKERS_LINES: Lines<{ requests: number; errors: number }> = [
  ["Requests", ({ requests }) => requests],
  ["Errors", ({ errors }) => errors, "--rp-bad"],
];

function WorkersChart() {
  const { data, error } = useQuery(workersMetricsQuery(useAccount().id));
  return <MetricsChart title="Workers" points={data} error={error} lines={WORKERS_LINES} />;
}

const STREAM_LINES: Lines<{ views: number; minutesViewed: number }> = [
  ["Views", ({ views }) => views],
  ["Minutes viewed", ({ minutesViewed }) => minutesViewed],
];

function StreamChart() {
  const { data, error } = useQuery(streamMetricsQuery(useAccount().id));
  return <MetricsChart title="Stream" points={data} error={error} lines={STREAM_LINES} />;
}
