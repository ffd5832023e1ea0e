/** Shows every shared component once, for the tests of test/dashboard/components.test.ts. Not part of the dashboard. */
import "../app.css";
import { Button, MantineProvider, Stack, TextInput } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { createRoot } from "react-dom/client";
import { accountsQuery } from "../api/account.ts";
import { ApiError } from "../api/errors.ts";
import { queryClient } from "../api/query-client.ts";
import { loadAppInfo } from "../api/app-info.ts";
import { Chart, type Series } from "../shared/chart.tsx";
import { CodeView } from "../shared/code-view.tsx";
import { ActionMenu, ConfirmButton } from "../shared/confirm-button.tsx";
import { CopyField } from "../shared/copy.tsx";
import { DataTable } from "../shared/data-table.tsx";
import { EmptyState } from "../shared/empty-state.tsx";
import { ErrorState } from "../shared/error-state.tsx";
import { FormModal } from "../shared/form-modal.tsx";
import {
  Bytes,
  Duration,
  formatBytes,
  formatDuration,
  formatTime,
  RelativeTime,
  relativeTime,
} from "../shared/format.tsx";
import { HtmlFrame } from "../shared/html-frame.tsx";
import { KeyValue } from "../shared/key-value.tsx";
import { LoadingState } from "../shared/loading-state.tsx";
import NotificationArea from "../shared/notifications.tsx";
import { Page, Section } from "../shared/page.tsx";
import { SearchField } from "../shared/search-field.tsx";
import { SecretField } from "../shared/secret-field.tsx";
import { StatusBadge } from "../shared/status-badge.tsx";
import { useAction } from "../shared/use-action.ts";
import { useLiveEvents } from "../shared/use-live-events.ts";
import { cssVariables, theme } from "../theme.ts";

const NOW = Date.now();
const TIMES = Array.from({ length: 60 }, (_, minute) => Math.round(NOW / 1000) - (60 - minute) * 60);
const SERIES: readonly Series[] = [
  { label: "Received", values: TIMES.map((_, minute) => 40 + Math.round(20 * Math.sin(minute / 6))) },
  { label: "Rejected", values: TIMES.map((_, minute) => (minute === 30 ? null : minute % 7)) },
];
const BARS = SERIES.slice(0, 1);
const ERROR = new ApiError("The queue is full: 1,000 messages.", {
  status: 503,
  code: 10002,
  fix: "Raise outbound.max_queued.",
  requestId: "4f1c2d",
});
const ROWS = [
  { id: "1", name: "intro.mp4", bytes: 48_300_000, seconds: 312, at: NOW - 90_000 },
  { id: "2", name: "interview-with-a-very-long-name-that-wraps.mov", bytes: 1_204_000_000, seconds: 5025, at: NOW },
];
const MESSAGE = `<p id="text">Hello</p><img src="http://127.0.0.1:9/pixel.png" alt="">
<script>parent.postMessage({ height: 9 }, "*")</script>`;

function Gallery() {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set(["1"]));
  const [isFormOpen, setFormOpen] = useState(false);
  const [search, setSearch] = useState("");
  const live = useLiveEvents(["mail"], []);
  const fail = useAction(async () => Promise.reject(ERROR), { failed: "Could not send the message" });
  const succeed = useAction(async () => {}, { done: "Message sent" });
  return (
    <main>
      <Page
        title="Components"
        badge={<StatusBadge tone="good">Ready</StatusBadge>}
        description="Every shared component once."
        parents={[{ label: "Parent", to: "/" }]}
        actions={
          <>
            <ConfirmButton action="Delete video" confirmText="intro" onConfirm={async () => {}}>
              The video and its renditions will be deleted.
            </ConfirmButton>
            <Button onClick={() => setFormOpen(true)}>Create rule</Button>
          </>
        }
      >
        <Section title="States">
          <Stack gap="sm">
            <EmptyState icon="video" title="No videos yet" actions={<Button>Upload video</Button>}>
              Uploaded and recorded videos appear here.
            </EmptyState>
            <ErrorState error={ERROR} onRetry={() => {}} />
            <ErrorState error={ERROR} title="The rule was not created" />
            <LoadingState />
            <div className="rp-toolbar">
              {(["good", "warning", "bad", "info", "neutral"] as const).map((tone) => (
                <StatusBadge key={tone} tone={tone}>
                  {tone}
                </StatusBadge>
              ))}
            </div>
          </Stack>
        </Section>
        <Section title="Values">
          <Stack gap="sm">
            <CopyField label="URL" value={`https://api.example.com/client/v4/accounts/${"0".repeat(32)}/stream`} />
            <SecretField label="stream key" value="live_0123456789" />
            <SecretField label="signing key" load={async () => "loaded_0123456789"} />
            <KeyValue
              items={[
                ["Created", <RelativeTime value={NOW - 86_400_000} />],
                ["Exact time", formatTime(0)],
                [
                  "As text",
                  `${formatBytes(999_950)} in ${formatDuration(0.05)}, ${relativeTime(new Date(NOW - 7200_000), NOW)}`,
                ],
                ["Size", <Bytes value={48_300_000} />],
                ["Duration", <Duration seconds={312} />],
                ["Absent", undefined],
              ]}
            />
            <CodeView
              label="source"
              text={"export default {\n  fetch: () => new Response('hello'),\n};\n"}
              lineNumbers
            />
            <StatusBadge tone="info">Events: {live}</StatusBadge>
            <HtmlFrame title="Message" html={MESSAGE} />
            <Chart label="Messages per minute" times={TIMES} series={SERIES} />
            <Chart label="Messages per minute as bars" times={TIMES} series={BARS} kind="bars" />
          </Stack>
        </Section>
        <Section title="Table" actions={<SearchField label="Search videos" value={search} onChange={setSearch} />}>
          <DataTable
            label="Files"
            list={{ items: ROWS, isLoading: false, error: null }}
            rowKey={({ id }) => id}
            empty={<EmptyState title="No files" />}
            columns={[
              { id: "name", header: "Name", render: ({ name }) => name },
              { id: "bytes", header: "Size", align: "end", render: ({ bytes }) => <Bytes value={bytes} /> },
            ]}
          />
          <DataTable
            label="Videos"
            list={{ items: ROWS, isLoading: false, error: null, page: 1, perPage: 2, total: 12_345 }}
            rowKey={({ id }) => id}
            rowName={({ name }) => name}
            onPage={() => {}}
            sort={{ order: "name", direction: "asc" }}
            onSort={() => {}}
            selected={selected}
            onSelect={setSelected}
            bulkActions={<Button variant="default">Delete videos</Button>}
            empty={<EmptyState title="No videos" />}
            columns={[
              { id: "name", header: "Name", sortable: true, render: ({ name }) => name },
              { id: "bytes", header: "Size", align: "end", render: ({ bytes }) => <Bytes value={bytes} /> },
              { id: "seconds", header: "Duration", render: ({ seconds }) => <Duration seconds={seconds} /> },
              { id: "at", header: "Created", wideOnly: true, render: ({ at }) => <RelativeTime value={at} /> },
              {
                id: "actions",
                label: "Actions",
                render: ({ name }) => (
                  <ActionMenu label={`Actions for ${name}`} items={[{ label: "Delete", danger: true, onClick() {} }]} />
                ),
              },
            ]}
          />
        </Section>
        <Section title="Messages">
          <div className="rp-toolbar">
            <Button variant="default" onClick={() => succeed.mutate()}>
              Send message
            </Button>
            <Button variant="default" onClick={() => fail.mutate()}>
              Fail to send
            </Button>
          </div>
        </Section>
        <FormModal
          title="Create rule"
          opened={isFormOpen}
          onClose={() => setFormOpen(false)}
          onSubmit={async () => Promise.reject(ERROR)}
        >
          <TextInput label="Name" data-autofocus />
        </FormModal>
      </Page>
      <NotificationArea />
    </main>
  );
}

const router = createRouter({
  routeTree: createRootRoute({ component: Gallery, notFoundComponent: () => null }),
  history: createMemoryHistory({ initialEntries: ["/"] }),
});

void loadAppInfo()
  .then(() => queryClient.ensureQueryData(accountsQuery))
  .then(() =>
    createRoot(document.getElementById("app")!).render(
      <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={cssVariables}>
        <QueryClientProvider client={queryClient}>
          <Suspense>
            <RouterProvider router={router as never} />
          </Suspense>
        </QueryClientProvider>
      </MantineProvider>,
    ),
  );
