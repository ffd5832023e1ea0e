import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { PageTabs } from "../../shared/page-tabs.tsx";
import { zoneQuery, type Zone } from "./queries.ts";
import { ZoneStatus } from "./zone-status.tsx";

const PARENTS = [{ label: "DNS", to: "/dns" }];
const TABS = [
  ["records", "Records"],
  ["verification", "Verification"],
] as const;

/** The frame of the pages of one zone. */
export function ZoneFrame({
  tab,
  actions,
  children,
}: {
  tab: (typeof TABS)[number][0];
  actions?: (zone: Zone) => ReactNode;
  children: (zone: Zone) => ReactNode;
}) {
  const { zoneId = "" }: { zoneId?: string } = useParams({ strict: false });
  const { data: zone, error, refetch } = useQuery(zoneQuery(zoneId));
  if (zone === undefined)
    return (
      <Page title="Zone" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page title={zone.name} badge={<ZoneStatus zone={zone} />} parents={PARENTS} actions={actions?.(zone)}>
      <PageTabs base={`/dns/${zone.id}`} tabs={TABS} current={tab}>
        {children(zone)}
      </PageTabs>
    </Page>
  );
}
