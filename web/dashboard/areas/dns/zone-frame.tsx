import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { zoneQuery, type Zone } from "./queries.ts";
import { ZoneStatus } from "./zone-status.tsx";

const PARENTS = [{ label: "DNS", to: "/dns" }];

/** The frame of the pages of one zone. */
export function ZoneFrame({
  tab,
  actions,
  children,
}: {
  tab: "records" | "verification";
  actions?: (zone: Zone) => ReactNode;
  children: (zone: Zone) => ReactNode;
}) {
  const { zoneId = "" }: { zoneId?: string } = useParams({ strict: false });
  const navigate = useNavigate();
  const { data: zone, error, refetch } = useQuery(zoneQuery(zoneId));
  if (zone === undefined)
    return (
      <Page title="Zone" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page title={zone.name} badge={<ZoneStatus zone={zone} />} parents={PARENTS} actions={actions?.(zone)}>
      <Tabs
        value={tab}
        onChange={(value) =>
          void navigate({ to: value === "records" ? `/dns/${zone.id}` : `/dns/${zone.id}/verification` })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="records">Records</Tabs.Tab>
          <Tabs.Tab value="verification">Verification</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          {children(zone)}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
