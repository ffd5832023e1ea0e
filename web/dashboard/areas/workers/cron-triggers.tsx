import { Button, Group, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type ResultOf } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { formatTime, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { workersKeys } from "./queries.ts";
import type { ScriptPath } from "./queries.ts";

const SCHEDULES = "/accounts/{account_id}/workers/scripts/{script_name}/schedules";
type NextRuns = ResultOf<"GET", "/accounts/{account_id}/workers/scripts/{script_name}/schedules/next">[number];

/** Cron triggers with their next runs. */
export function CronTriggers({ path }: { path: ScriptPath }) {
  const [isCreating, creation] = useDisclosure(false);
  const { data, isPending, error } = useQuery({
    queryKey: [...workersKeys.worker(path), "schedules"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/schedules/next", { path }),
  });
  const crons = (data ?? []).map(({ cron }) => cron);

  async function save(changed: readonly string[]) {
    await api.put(SCHEDULES, { path, body: changed.map((cron) => ({ cron })) });
    await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
  }

  const columns: readonly Column<NextRuns>[] = [
    { id: "cron", header: "Expression", render: ({ cron }) => <span className="rp-mono">{cron}</span> },
    {
      id: "next",
      header: "Next run",
      render: ({ next: [first] }) => (first === undefined ? "Never" : <RelativeTime value={first} />),
    },
    {
      id: "then",
      header: "Following runs",
      wideOnly: true,
      render: ({ next }) => <span className="rp-dimmed">{next.slice(1, 3).map(formatTime).join("; ")}</span>,
    },
    {
      id: "actions",
      label: "Actions",
      width: 150,
      render: ({ cron }) => (
        <Group gap={4} justify="end" wrap="nowrap">
          <RunNow path={path} cron={cron} />
          <ConfirmButton
            icon="trash"
            action="Delete cron trigger"
            label={`Delete ${cron}`}
            onConfirm={() => save(crons.filter((other) => other !== cron))}
          >
            The cron trigger will be deleted. The scheduled handler will no longer run at <code>{cron}</code>.
          </ConfirmButton>
        </Group>
      ),
    },
  ];
  const add = (
    <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create cron trigger
    </Button>
  );
  return (
    <Section title="Cron triggers" description="Expressions are in UTC, the next runs in your time zone." actions={add}>
      <DataTable
        label="Cron triggers"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ cron }) => cron}
        empty={
          <EmptyState icon="clock" title="No cron triggers">
            They call the <code>scheduled()</code> handler.
          </EmptyState>
        }
      />
      {isCreating && <AddCron onClose={creation.close} onAdd={(cron) => save([...crons, cron])} />}
    </Section>
  );
}

function RunNow({ path, cron }: { path: ScriptPath; cron: string }) {
  const run = useAction(
    () =>
      api
        .post("/accounts/{account_id}/workers/scripts/{script_name}/schedules/run", { path, body: { cron } })
        .then((result) => {
          if (result.exception !== null) throw new Error(result.exception);
          return result;
        }),
    {
      done: ({ outcome }) => (outcome === null ? "The handler is still running" : `The handler finished: ${outcome}`),
      failed: "The handler failed",
    },
  );
  return (
    <Button variant="default" loading={run.isPending} onClick={() => run.mutate()}>
      Run now
    </Button>
  );
}

function AddCron({ onAdd, onClose }: { onAdd: (cron: string) => Promise<void>; onClose: () => void }) {
  const [cron, setCron] = useState("");
  const [problem, setProblem] = useState<string>();
  return (
    <FormModal
      title="Create cron trigger"
      opened
      onClose={onClose}
      onSubmit={() => {
        const isEmpty = cron.trim() === "";
        setProblem(isEmpty ? "Enter an expression, for example */5 * * * *" : undefined);
        return !isEmpty && onAdd(cron.trim());
      }}
    >
      <TextInput
        label="Expression"
        description="Minute, hour, day of month, month, day of week"
        placeholder="*/5 * * * *"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={cron}
        error={problem}
        onChange={({ currentTarget }) => setCron(currentTarget.value)}
      />
    </FormModal>
  );
}
