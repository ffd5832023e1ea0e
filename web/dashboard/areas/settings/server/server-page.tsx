import { Paper, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { toApiError } from "../../../api/errors.ts";
import { versionQuery } from "../../../api/version.ts";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { KeyValue } from "../../../shared/key-value.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { Page, Section } from "../../../shared/page.tsx";
import { settingsKeys } from "../queries.ts";
import { Certificates } from "./certificates.tsx";
import { EffectiveSettings } from "./effective-settings.tsx";

const FORBIDDEN = 403;
const DATABASES = { sqlite: "SQLite", postgresql: "PostgreSQL" };

export default function ServerPage() {
  const account = useAccount();
  const { data, error, refetch } = useQuery({
    queryKey: [...settingsKeys.server(account.id), "details"],
    queryFn: () => api.get("/accounts/{account_id}/server", { path: { account_id: account.id } }),
  });
  const { data: version = "" } = useQuery(versionQuery);
  // Members of other accounts see the version alone.
  const isForbidden = error !== null && toApiError(error).status === FORBIDDEN;
  return (
    <Page title="Server" description={`Reelpost ${version}`}>
      {isForbidden && (
        <EmptyState icon="lock" title="Only the operator can view server details">
          Open the account in which the server was set up.
        </EmptyState>
      )}
      {error !== null && !isForbidden && <ErrorState error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <LoadingState rows={5} label="Loading the server" />}
      {data !== undefined && (
        <Stack gap="lg">
          <Section title="Process">
            <Paper>
              <KeyValue
                items={[
                  ["Version", data.version],
                  ["Started", <RelativeTime key="started" value={data.started} />],
                  ["Roles", data.roles.join(", ")],
                  ["Database", DATABASES[data.database]],
                ]}
              />
            </Paper>
          </Section>
          <Certificates account={account.id} />
          <EffectiveSettings account={account.id} />
        </Stack>
      )}
    </Page>
  );
}
