import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccount } from "../../../api/account.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { formatBytes } from "../../../shared/format.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { Page } from "../../../shared/page.tsx";
import { PageTabs } from "../../../shared/page-tabs.tsx";
import { databaseQuery } from "../queries.ts";

const PARENTS = [{ label: "D1", to: "/storage/d1" }];
const TABS = [
  ["tables", "Tables"],
  ["console", "SQL console"],
] as const;

/** The frame of the pages of one database. */
export function DatabaseFrame({
  tab,
  children,
}: {
  tab: (typeof TABS)[number][0];
  children: (path: { account_id: string; database_id: string }, name: string) => ReactNode;
}) {
  const { databaseId = "" }: { databaseId?: string } = useParams({ strict: false });
  const account = useAccount();
  const { data: database, error, refetch } = useQuery(databaseQuery(account.id, databaseId));
  if (database === undefined)
    return (
      <Page title="Database" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const { name = databaseId, num_tables: tables, file_size: size } = database;
  return (
    <Page
      title={name}
      parents={PARENTS}
      {...(size !== undefined && {
        description: `${tables ?? 0} ${tables === 1 ? "table" : "tables"}, ${formatBytes(size)}`,
      })}
    >
      <PageTabs base={`/storage/d1/${databaseId}`} tabs={TABS} current={tab}>
        {children({ account_id: account.id, database_id: databaseId }, name)}
      </PageTabs>
    </Page>
  );
}
