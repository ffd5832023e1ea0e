import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { isDev } from "../../api/app-info.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { Addresses } from "./addresses.tsx";
import { Charts } from "./charts.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { NeedsAttention, Components, HealthBadge } from "./health.tsx";
import { healthQuery, homeKeys } from "./queries.ts";

export default function HomePage() {
  return isDev() ? <DevelopmentHome /> : <ServerHome />;
}

/** A development server has no components and no daily metrics. */
function DevelopmentHome() {
  return (
    <Page title="Home" description="The development server on this computer.">
      <Addresses />
    </Page>
  );
}

function ServerHome() {
  const account = useAccount();
  const { data, error, refetch } = useQuery(healthQuery(account.id));
  useLiveEvents(
    ["mail", "queue", "routing", "videos", "workers", "zones", "dns"],
    [homeKeys.health, homeKeys.steps, homeKeys.metrics],
  );
  return (
    <Page title="Home" {...(data !== undefined && { badge: <HealthBadge status={data.status} /> })}>
      <Stack gap="lg">
        <FirstSteps />
        {error !== null && data === undefined && <ErrorState error={error} onRetry={() => void refetch()} />}
        {error === null && data === undefined && <LoadingState rows={5} label="Loading health status" />}
        {data !== undefined && <NeedsAttention health={data} />}
        <Charts />
        {data !== undefined && <Components components={data.components} />}
        <Addresses />
      </Stack>
    </Page>
  );
}
