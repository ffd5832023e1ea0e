import { Anchor, Button, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Chart } from "../../shared/chart.tsx";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatNumber, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { Section } from "../../shared/page.tsx";
import { metricsQuery, formatCpu, hourlyQuery } from "./metrics.ts";
import { deploymentsQuery, settingsQuery, shortId, workersKeys } from "./queries.ts";
import { UploadWorker } from "./upload-worker.tsx";
import { WorkerFrame } from "./worker-frame.tsx";
import type { ScriptPath } from "./queries.ts";
import { workerUrl } from "./worker-url.ts";

export default function OverviewPage() {
  const [isUploading, uploading] = useDisclosure(false);
  return (
    <WorkerFrame
      tab="overview"
      actions={(path) => (
        <>
          <DeleteWorker path={path} />
          <Button leftSection={<Icon name="upload" size={14} />} onClick={uploading.open}>
            Upload and deploy version
          </Button>
        </>
      )}
    >
      {(path) => (
        <Stack gap="lg">
          <Invocations path={path} />
          <Summary path={path} />
          {isUploading && <UploadWorker worker={path.script_name} initialFiles={[]} onClose={uploading.close} />}
        </Stack>
      )}
    </WorkerFrame>
  );
}

function Invocations({ path: { account_id: account, script_name: name } }: { path: ScriptPath }) {
  const metrics = useQuery(metricsQuery(account, [name]));
  const { data: hours } = useQuery(hourlyQuery(account, name));
  const times = useMemo(() => hours?.map(({ at }) => at / 1000), [hours]);
  const series = useMemo(
    () => [
      { label: "Requests", values: hours?.map((hour) => hour.metrics?.requests ?? 0) ?? [], format: formatNumber },
      {
        label: "Errors",
        values: hours?.map((hour) => hour.metrics?.errors || null) ?? [],
        format: formatNumber,
        color: "--rp-bad",
      },
    ],
    [hours],
  );
  if (metrics.error !== null) return <ErrorState error={metrics.error} onRetry={() => void metrics.refetch()} />;
  const worker = metrics.data?.get(name);
  const tiles = [
    ["Requests", formatNumber(worker?.requests ?? 0)],
    ["Errors", formatNumber(worker?.errors ?? 0)],
    ["CPU p50", formatCpu(worker?.cpuP50)],
    ["CPU p99", formatCpu(worker?.cpuP99)],
  ] as const;
  return (
    <Section title="Last 24 hours">
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm" verticalSpacing="sm" mb="sm">
        {tiles.map(([label, value]) => (
          <Paper key={label} p="sm">
            <Text fz="xs" c="dimmed">
              {label}
            </Text>
            <Text fz="lg" fw={600}>
              {metrics.data === undefined ? "…" : value}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
      <Paper>
        <Chart label="Requests and errors per hour" times={times} series={series} kind="bars" />
      </Paper>
    </Section>
  );
}

function Summary({ path }: { path: ScriptPath }) {
  const { data: settings } = useQuery(settingsQuery(path));
  const { data: deployments } = useQuery(deploymentsQuery(path));
  const { data: subdomain } = useQuery({
    queryKey: [...workersKeys.worker(path), "subdomain"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/subdomain", { path }),
  });
  const newest = deployments?.[0];
  const url = workerUrl(path.script_name);
  return (
    <Section title="Details">
      <Paper>
        <KeyValue
          items={[
            [
              "URL",
              url !== undefined &&
                (subdomain?.enabled === true ? (
                  <Anchor href={url} target="_blank" rel="noreferrer" fz="sm">
                    {url}
                  </Anchor>
                ) : (
                  <Link to={`/workers/${path.script_name}/triggers`}>Not enabled</Link>
                )),
            ],
            [
              "Deployed",
              newest && (
                <>
                  <RelativeTime value={newest.created_on} /> by {newest.author_email || newest.source}
                </>
              ),
            ],
            [
              "Versions",
              newest?.versions.map((version) => `${shortId(version.version_id)} ${version.percentage}%`).join(", "),
            ],
            ["Compatibility date", settings?.["compatibility_date"] as string | undefined],
            ["Bindings", settings && String(settings.bindings.length)],
          ]}
        />
      </Paper>
    </Section>
  );
}

function DeleteWorker({ path }: { path: ScriptPath }) {
  const navigate = useNavigate();
  const { script_name: name } = path;
  return (
    <ConfirmButton
      action="Delete worker"
      confirmText={name}
      onConfirm={async () => {
        await api.delete("/accounts/{account_id}/workers/scripts/{script_name}", { path });
        void queryClient.invalidateQueries({ queryKey: workersKeys.list(path.account_id) });
        await navigate({ to: "/workers" });
        queryClient.removeQueries({ queryKey: workersKeys.worker(path) });
      }}
    >
      {name} and all its versions, secrets and triggers will be deleted. Its routes will stop working.
    </ConfirmButton>
  );
}
