import { Button, Paper, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { bindingTarget, bindingType, type Binding } from "./bindings.ts";
import { settingsQuery, workersKeys } from "./queries.ts";
import { SecretForm } from "./secret-form.tsx";
import { WorkerFrame } from "./worker-frame.tsx";
import type { ScriptPath } from "./queries.ts";

export default function SettingsPage() {
  return (
    <WorkerFrame tab="settings">
      {(path) => (
        <Stack gap="lg">
          <Secrets path={path} />
          <Bindings path={path} />
          <Runtime path={path} />
        </Stack>
      )}
    </WorkerFrame>
  );
}

function Secrets({ path }: { path: ScriptPath }) {
  const [isCreating, creation] = useDisclosure(false);
  const notify = useNotify();
  const { data, isPending, error } = useQuery({
    queryKey: [...workersKeys.worker(path), "secrets"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/secrets", { path }),
  });
  const add = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create secret
    </Button>
  );
  const columns: readonly Column<{ name: string }>[] = [
    { id: "name", header: "Name", render: ({ name }) => <span className="rp-mono">{name}</span> },
    { id: "value", header: "Value", render: () => <span className="rp-dimmed">Hidden</span> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: ({ name }) => (
        <ConfirmButton
          icon="trash"
          action="Delete secret"
          label={`Delete ${name}`}
          onConfirm={async () => {
            await api.delete("/accounts/{account_id}/workers/scripts/{script_name}/secrets/{secret_name}", {
              path: { ...path, secret_name: name } as typeof path & { secret_name: string },
            });
            await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
            notify.success(`Secret ${name} deleted`);
          }}
        >
          {name} will be deleted, and a new version without it will be deployed.
        </ConfirmButton>
      ),
    },
  ];
  return (
    <Section title="Secrets" description="Values can be replaced, but not read." actions={add}>
      <DataTable
        label="Secrets"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ name }) => name}
        empty={
          <EmptyState icon="key" title="No secrets yet">
            The worker reads a secret as <code>env.NAME</code>.
          </EmptyState>
        }
      />
      {isCreating && <SecretForm path={path} onClose={creation.close} />}
    </Section>
  );
}

const BINDING_COLUMNS: readonly Column<Binding>[] = [
  { id: "name", header: "Name", render: ({ name }) => <span className="rp-mono">{name}</span> },
  { id: "type", header: "Type", width: 200, render: bindingType },
  { id: "target", header: "Value", render: (binding) => <span className="rp-mono">{bindingTarget(binding)}</span> },
];

function Bindings({ path }: { path: ScriptPath }) {
  const { data, isPending, error } = useQuery(settingsQuery(path));
  const bindings = ((data?.bindings ?? []) as Binding[]).filter(({ type }) => type !== "secret_text");
  return (
    <Section title="Bindings" description="The configuration file of the worker declares them.">
      <DataTable
        label="Bindings"
        columns={BINDING_COLUMNS}
        list={{ items: bindings, isLoading: isPending, error }}
        rowKey={({ name }) => name}
        empty={<EmptyState icon="link" title="No bindings" />}
      />
    </Section>
  );
}

function Runtime({ path }: { path: ScriptPath }) {
  const { data } = useQuery(settingsQuery(path));
  const [tags, setTags] = useState<string>();
  const save = useAction(
    (change: { tags: string[] }) => {
      const body = new FormData();
      body.set("settings", new Blob([JSON.stringify(change)], { type: "application/json" }));
      return api.patch("/accounts/{account_id}/workers/scripts/{script_name}/script-settings", { path, body });
    },
    { done: "Settings saved", failed: "Could not save the settings", invalidates: [workersKeys.worker(path)] },
  );
  if (data === undefined) return null;
  const shownTags = tags ?? data.tags.join(", ");
  const limits = data["limits"] as { cpu_ms?: number } | undefined;
  return (
    <Section title="Settings">
      <Paper>
        <Stack gap="md">
          <KeyValue
            items={[
              ["Compatibility date", data["compatibility_date"] as string | undefined],
              ["Compatibility flags", ((data["compatibility_flags"] as string[] | undefined) ?? []).join(", ")],
              ["CPU limit", limits?.cpu_ms === undefined ? undefined : `${limits.cpu_ms} ms`],
              ["Usage model", data.usage_model],
              ["Tail consumers", data.tail_consumers.map((consumer) => String(consumer["service"])).join(", ")],
            ]}
          />
          <form
            className="rp-workers-line"
            onSubmit={(event) => {
              event.preventDefault();
              save.mutate({
                tags: shownTags
                  .split(",")
                  .map((tag) => tag.trim())
                  .filter((tag) => tag !== ""),
              });
            }}
          >
            <TextInput
              label="Tags"
              description="Separated by commas"
              value={shownTags}
              onChange={({ currentTarget }) => setTags(currentTarget.value)}
            />
            <Button type="submit" variant="default" loading={save.isPending}>
              Save tags
            </Button>
          </form>
        </Stack>
      </Paper>
    </Section>
  );
}
