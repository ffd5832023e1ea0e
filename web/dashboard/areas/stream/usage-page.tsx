import { Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { Chart } from "../../shared/chart.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page, Section } from "../../shared/page.tsx";
import { streamKeys } from "./queries.ts";

const DAYS = 30;
/** The server reports this limit if none is set. */
const NO_LIMIT_MINUTES = 1_000_000_000;
const minutes = (value: number) =>
  `${value > 0 && value < 10 ? Number(value.toFixed(2)) : formatNumber(Math.round(value))} min`;

export default function UsagePage() {
  const { id: account } = useAccount();
  const path = { account_id: account };
  const since = useMemo(() => new Date(Date.now() - DAYS * 86_400_000).toISOString(), []);
  const storage = useQuery({
    queryKey: [...streamKeys.usage(account), "storage"],
    queryFn: () => api.get("/accounts/{account_id}/stream/storage-usage", { path }),
  });
  const series = useQuery({
    queryKey: [...streamKeys.usage(account), "series"],
    queryFn: () =>
      api.get("/accounts/{account_id}/stream/analytics/series", { path, query: { since, time_delta: "day" } }),
  });
  const chart = useMemo(
    () => ({
      times: series.data?.map(({ ts }) => ts),
      minutes: [
        { label: "Minutes viewed", values: series.data?.map((point) => point.minutesViewed) ?? [], format: minutes },
      ],
      views: [{ label: "Views", values: series.data?.map(({ views }) => views) ?? [], format: formatNumber }],
    }),
    [series.data],
  );
  const total = (values: number[] | undefined) => values?.reduce((sum, value) => sum + value, 0);
  const viewed = total(series.data?.map(({ minutesViewed }) => minutesViewed));
  const views = total(series.data?.map((point) => point.views));

  return (
    <Page title="Usage" parents={[{ label: "Videos", to: "/stream" }]}>
      <Section title="Storage">
        {storage.error !== null && <ErrorState error={storage.error} onRetry={() => void storage.refetch()} />}
        {storage.data === undefined ? (
          storage.error === null && <LoadingState rows={2} />
        ) : (
          <Stack gap="xs" maw="36rem">
            {storage.data.totalStorageMinutesLimit < NO_LIMIT_MINUTES && (
              <Progress
                value={Math.round((100 * storage.data.totalStorageMinutes) / storage.data.totalStorageMinutesLimit)}
                aria-label="Storage used"
              />
            )}
            <KeyValue
              items={[
                ["Stored", minutes(storage.data.totalStorageMinutes)],
                [
                  "Limit",
                  storage.data.totalStorageMinutesLimit < NO_LIMIT_MINUTES
                    ? minutes(storage.data.totalStorageMinutesLimit)
                    : "None",
                ],
                ["Reserved by uploads", minutes(storage.data.x_reservedStorageMinutes)],
                ["Videos", formatNumber(storage.data.videoCount)],
              ]}
            />
          </Stack>
        )}
      </Section>
      <Section title="Playback" description={`The last ${DAYS} days.`}>
        {series.error !== null && <ErrorState error={series.error} onRetry={() => void series.refetch()} />}
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
          <div>
            <Text fz="sm">{viewed === undefined ? "Minutes viewed" : `${minutes(viewed)} viewed`}</Text>
            <Chart label="Minutes viewed per day" kind="bars" times={chart.times} series={chart.minutes} />
          </div>
          <div>
            <Text fz="sm">
              {views === undefined ? "Views" : `${formatNumber(views)} ${views === 1 ? "view" : "views"}`}
            </Text>
            <Chart label="Views per day" kind="bars" times={chart.times} series={chart.views} />
          </div>
        </SimpleGrid>
      </Section>
    </Page>
  );
}
