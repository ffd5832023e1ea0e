import { Paper, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useAccount } from "../../api/account.ts";
import { Chart, type Series } from "../../shared/chart.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { Section } from "../../shared/page.tsx";
import { mailFiguresQuery, streamFiguresQuery, workersFiguresQuery } from "./queries.ts";

const CHART_HEIGHT = 140;
/** The axis of small figures has steps below 1. */
const oneDecimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** The last day of each product, per hour. */
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

/** A line for each figure, named for the legend. */
type Lines<Point> = readonly (readonly [label: string, value: (point: Point) => number, color?: string])[];

interface FiguresProps<Point> {
  title: string;
  points: readonly Point[] | undefined;
  error: unknown;
  lines: Lines<Point>;
}

function Figures<Point extends { ts: number }>({ title, points, error, lines }: FiguresProps<Point>) {
  const times = useMemo(() => points?.map(({ ts }) => ts), [points]);
  const series = useMemo(
    (): Series[] =>
      lines.map(([label, value, color]) => ({
        label,
        values: (points ?? []).map(value),
        format: (figure) => oneDecimal.format(figure),
        ...(color !== undefined && { color }),
      })),
    [points, lines],
  );
  const totals = lines.map(([label, value]) => {
    const total = (points ?? []).reduce((sum, point) => sum + value(point), 0);
    return `${formatNumber(Math.round(total))} ${label.toLowerCase()}`;
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
  const { data, error } = useQuery(mailFiguresQuery(useAccount().id));
  return <Figures title="Mail" points={data?.series} error={error} lines={MAIL_LINES} />;
}

const WORKERS_LINES: Lines<{ requests: number; errors: number }> = [
  ["Invocations", ({ requests }) => requests],
  ["Errors", ({ errors }) => errors, "--rp-bad"],
];

function WorkersChart() {
  const { data, error } = useQuery(workersFiguresQuery(useAccount().id));
  return <Figures title="Workers" points={data} error={error} lines={WORKERS_LINES} />;
}

const STREAM_LINES: Lines<{ views: number; minutesViewed: number }> = [
  ["Views", ({ views }) => views],
  ["Minutes viewed", ({ minutesViewed }) => minutesViewed],
];

function StreamChart() {
  const { data, error } = useQuery(streamFiguresQuery(useAccount().id));
  return <Figures title="Stream" points={data} error={error} lines={STREAM_LINES} />;
}
