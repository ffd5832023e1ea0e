import { Anchor, Button, Select } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { isDev } from "../../api/app-info.ts";
import { api } from "../../api/client.ts";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { DropZone } from "../../shared/drop-zone.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { formatNumber, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { metricsQuery, formatCpu, type WorkerMetrics } from "./metrics.ts";
import { workersKeys, type Script } from "./queries.ts";
import { UploadWorker } from "./upload-worker.tsx";

/** A development server has no versions and no metrics, so the worker page shows live logs. */
const hrefOf = ({ script_name: name }: Script) => (isDev() ? `/workers/${name}/logs` : `/workers/${name}`);
const ORDERS = [
  { value: "name", label: "Name" },
  { value: "modified_on", label: "Last modified" },
  { value: "created_on", label: "Created" },
];

export default function WorkersPage() {
  const account = useAccount();
  const [state, change] = usePageState({ page: 1, search: "", order: "name" });
  const { page, search, order } = state as typeof state & { order: "name" };
  const [isUploading, uploading] = useDisclosure(false);
  const [dropped, setDropped] = useState<readonly File[]>([]);
  const queryKey = workersKeys.list(account.id);
  useLiveEvents(["workers"], [queryKey]);
  const list = usePagedList<Script>([...queryKey, search, order], page, (request) =>
    api.list("/accounts/{account_id}/workers/scripts-search", {
      path: { account_id: account.id },
      query: { ...request, order_by: order, ...(search !== "" && { name: search }) },
    }),
  );
  const names = list.items.map(({ script_name: name }) => name);
  const metrics = useQuery(metricsQuery(account.id, isDev() ? [] : names)).data;
  const upload = !isDev() && (
    <Button leftSection={<Icon name="upload" size={14} />} onClick={uploading.open}>
      Upload worker
    </Button>
  );

  return (
    <Page
      title="Workers"
      description={
        isDev() ? "Open a worker to follow its logs." : "Requests, errors and CPU time in the last 24 hours."
      }
      actions={upload}
    >
      <div className="rp-toolbar">
        <SearchField label="Search workers" value={search} onChange={(value) => change({ search: value, page: 1 })} />
        <Select
          aria-label="Sort by"
          size="xs"
          data={ORDERS}
          value={order}
          w={150}
          onChange={(value) => change({ order: value ?? "name", page: 1 })}
        />
      </div>
      <DropZone
        disabled={isDev()}
        onFiles={(files) => {
          setDropped(files);
          uploading.open();
        }}
      >
        <DataTable
          label="Workers"
          columns={columnsOf(metrics)}
          list={list}
          rowKey={({ id }) => id}
          rowHref={hrefOf}
          onPage={(next) => change({ page: next })}
          empty={
            search === "" ? (
              <EmptyState icon="code" title="No workers yet" actions={upload}>
                {isDev() ? (
                  "Declare workers in the configuration file of the project."
                ) : (
                  <>
                    Drop the files of a worker here, or deploy it with <code>wrangler deploy</code>.
                  </>
                )}
              </EmptyState>
            ) : (
              <EmptyState icon="search" title={`No workers match “${search}”`} />
            )
          }
        />
      </DropZone>
      {isUploading && (
        <UploadWorker
          initialFiles={dropped}
          onClose={() => {
            setDropped([]);
            uploading.close();
          }}
        />
      )}
    </Page>
  );
}

function columnsOf(metrics: ReadonlyMap<string, WorkerMetrics> | undefined): readonly Column<Script>[] {
  const metric = (
    id: string,
    header: string,
    show: (worker: WorkerMetrics | undefined) => string,
    wideOnly = false,
  ): Column<Script> => ({
    id,
    header,
    width: 110,
    align: "end",
    wideOnly,
    render: ({ script_name: name }) => (metrics === undefined ? "" : show(metrics.get(name))),
  });
  return [
    {
      id: "name",
      header: "Worker",
      render: (script) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(script)} {...props} />} fw={500} fz="sm">
          {script.script_name}
        </Anchor>
      ),
    },
    ...(isDev()
      ? []
      : [
          metric("requests", "Requests", (worker) => formatNumber(worker?.requests ?? 0)),
          metric("errors", "Errors", (worker) => formatNumber(worker?.errors ?? 0)),
          metric("cpu50", "CPU p50", (worker) => formatCpu(worker?.cpuP50), true),
          metric("cpu99", "CPU p99", (worker) => formatCpu(worker?.cpuP99), true),
        ]),
    {
      id: "modified_on",
      header: "Modified",
      width: 150,
      render: ({ modified_on: modified }) => <RelativeTime value={modified} />,
    },
  ];
}
