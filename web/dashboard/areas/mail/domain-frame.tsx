import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { PageTabs } from "../../shared/page-tabs.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { DomainStatus } from "./domain-status.tsx";
import { mailKeys, routingQuery, type RoutingZone } from "./queries.ts";

const PARENTS = [{ label: "Mail domains", to: "/mail/domains" }];
const TABS = [
  ["setup", "Setup"],
  ["rules", "Routing rules"],
  ["sending", "Sending"],
  ["reports", "Reports"],
] as const;

/** The frame of the pages of one domain. */
export function DomainFrame({
  tab,
  actions,
  children,
}: {
  tab: (typeof TABS)[number][0];
  actions?: ReactNode;
  children: (zone: RoutingZone, zoneId: string) => ReactNode;
}) {
  const { zoneId = "" }: { zoneId?: string } = useParams({ strict: false });
  const { data: zone, error, refetch } = useQuery(routingQuery(zoneId));
  useLiveEvents(["routing", "sending", "dns"], [mailKeys.domain(zoneId)]);
  if (zone === undefined)
    return (
      <Page title="Mail domain" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page title={zone.name} badge={<DomainStatus zone={zone} />} parents={PARENTS} actions={actions}>
      <PageTabs base={`/mail/domains/${zoneId}`} tabs={TABS} current={tab}>
        {children(zone, zoneId)}
      </PageTabs>
    </Page>
  );
}
