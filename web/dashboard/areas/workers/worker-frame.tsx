import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccount } from "../../api/account.ts";
import { isDev } from "../../api/app-info.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { PageTabs } from "../../shared/page-tabs.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { settingsQuery, workersKeys, type ScriptPath } from "./queries.ts";

const PARENTS = [{ label: "Workers", to: "/workers" }];
const TABS = [
  ["overview", "Overview"],
  ["code", "Code"],
  ["deployments", "Deployments"],
  ["logs", "Live logs"],
  ["triggers", "Triggers"],
  ["settings", "Settings"],
] as const;

/** The frame of the pages of one worker. */
export function WorkerFrame({
  tab,
  actions,
  children,
}: {
  tab: (typeof TABS)[number][0];
  actions?: (path: ScriptPath) => ReactNode;
  children: (path: ScriptPath) => ReactNode;
}) {
  const { worker = "" }: { worker?: string } = useParams({ strict: false });
  const { id: account } = useAccount();
  const path = { account_id: account, script_name: worker };
  const { data, error, refetch } = useQuery(settingsQuery(path));
  useLiveEvents(["workers", "deployments"], [workersKeys.worker(path)]);
  return (
    <Page title={worker} parents={PARENTS} actions={data && actions?.(path)}>
      {data === undefined && error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <PageTabs
          base={`/workers/${worker}`}
          tabs={isDev() ? TABS.filter(([value]) => value === "logs") : TABS}
          first="overview"
          current={tab}
        >
          {data === undefined ? <LoadingState /> : children(path)}
        </PageTabs>
      )}
    </Page>
  );
}
