import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccount } from "../../../api/account.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { formatBytes } from "../../../shared/format.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { Page } from "../../../shared/page.tsx";
import { databaseQuery } from "../queries.ts";

const PARENTS = [{ label: "D1", to: "/storage/d1" }];

/** The frame of the pages of one database. */
export function DatabaseFrame({
  tab,
  children,
}: {
  tab: "tables" | "console";
  children: (path: { account_id: string; database_id: string }, name: string) => ReactNode;
}) {
  const { databaseId = "" }: { databaseId?: string } = useParams({ strict: false });
  const account = useAccount();
  const navigate = useNavigate();
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
      <Tabs
        value={tab}
        onChange={(value) =>
          void navigate({
            to: value === "tables" ? `/storage/d1/${databaseId}` : `/storage/d1/${databaseId}/console`,
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="tables">Tables</Tabs.Tab>
          <Tabs.Tab value="console">SQL console</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          {children({ account_id: account.id, database_id: databaseId }, name)}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
