import { Anchor, Paper, Stack, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { CopyButton } from "../../shared/copy.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { CronTriggers } from "./cron-triggers.tsx";
import { Domains } from "./domains.tsx";
import { workersKeys } from "./queries.ts";
import { Routes } from "./routes-list.tsx";
import { WorkerFrame } from "./worker-frame.tsx";
import type { ScriptPath } from "./queries.ts";
import { workerUrl } from "./worker-url.ts";

export default function TriggersPage() {
  return (
    <WorkerFrame tab="triggers">
      {(path) => (
        <Stack gap="lg">
          <WorkerUrl path={path} />
          <CronTriggers path={path} />
          <Routes path={path} />
          <Domains path={path} />
        </Stack>
      )}
    </WorkerFrame>
  );
}

function WorkerUrl({ path }: { path: ScriptPath }) {
  const { data, error } = useQuery({
    queryKey: [...workersKeys.worker(path), "subdomain"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/subdomain", { path }),
  });
  const change = useAction(
    (enabled: boolean) =>
      api.post("/accounts/{account_id}/workers/scripts/{script_name}/subdomain", { path, body: { enabled } }),
    { failed: "Could not enable or disable the URL", invalidates: [workersKeys.worker(path)] },
  );
  const url = workerUrl(path.script_name);
  return (
    <Section title="URL">
      {error !== null && <ErrorState error={error} />}
      <Paper>
        <Stack gap="sm">
          <Switch
            label="Serve requests at the worker's URL"
            checked={data?.enabled === true}
            disabled={data === undefined || change.isPending}
            onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
          />
          {url !== undefined && data?.enabled === true && (
            <Text fz="sm" component="div">
              <Anchor href={url} target="_blank" rel="noreferrer" fz="sm">
                {url}
              </Anchor>{" "}
              <CopyButton value={url} label="Copy URL" />
            </Text>
          )}
        </Stack>
      </Paper>
    </Section>
  );
}
