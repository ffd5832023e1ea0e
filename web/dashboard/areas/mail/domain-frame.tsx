import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { DomainStatus } from "./domain-status.tsx";
import { mailKeys, routingQuery, type RoutingZone } from "./queries.ts";

const PARENTS = [{ label: "Mail domains", to: "/mail/domains" }];

/** The frame of the pages of one domain. */
export function DomainFrame({
  tab,
  actions,
  children,
}: {
  tab: "setup" | "rules" | "sending";
  actions?: ReactNode;
  children: (zone: RoutingZone, zoneId: string) => ReactNode;
}) {
  const { zoneId = "" }: { zoneId?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const { data: zone, error, refetch } = useQuery(routingQuery(zoneId));
  useLiveEvents(["routing", "sending", "dns"], [mailKeys.domain(zoneId)]);
  if (zone === undefined)
    return (
      <Page title="Mail domain" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const base = `/mail/domains/${zoneId}`;
  return (
    <Page title={zone.name} badge={<DomainStatus zone={zone} />} parents={PARENTS} actions={actions}>
      <Tabs value={tab} onChange={(value) => void navigate({ to: value === "setup" ? base : `${base}/${value}` })}>
        <Tabs.List>
          <Tabs.Tab value="setup">Setup</Tabs.Tab>
          <Tabs.Tab value="rules">Routing rules</Tabs.Tab>
          <Tabs.Tab value="sending">Sending</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          {children(zone, zoneId)}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
