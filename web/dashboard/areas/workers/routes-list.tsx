import { Button, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { workersKeys } from "./queries.ts";
import type { ScriptPath } from "./queries.ts";

type Route = ResultOf<"GET", "/accounts/{account_id}/workers/scripts/{script_name}/routes">[number];

/** Routes of a worker: URL patterns in the zones of the account. */
export function Routes({ path }: { path: ScriptPath }) {
  const [isCreating, creation] = useDisclosure(false);
  const { data, isPending, error } = useQuery({
    queryKey: [...workersKeys.worker(path), "routes"],
    queryFn: () => api.get("/accounts/{account_id}/workers/scripts/{script_name}/routes", { path }),
  });
  const columns: readonly Column<Route>[] = [
    { id: "pattern", header: "Pattern", render: ({ pattern }) => <span className="rp-mono">{pattern}</span> },
    { id: "zone", header: "Zone", render: ({ zone_name: zone }) => zone },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: ({ id, pattern, zone_id: zone }) => (
        <ConfirmButton
          icon="trash"
          action="Delete route"
          label={`Delete ${pattern}`}
          onConfirm={async () => {
            await api.delete("/zones/{zone_id}/workers/routes/{route_id}", { path: { zone_id: zone, route_id: id } });
            await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
          }}
        >
          The route will be deleted. Requests for {pattern} will no longer reach the worker.
        </ConfirmButton>
      ),
    },
  ];
  return (
    <Section
      title="Routes"
      actions={
        <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
          Create route
        </Button>
      }
    >
      <DataTable
        label="Routes"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ id }) => id}
        empty={<EmptyState icon="link" title="No routes" />}
      />
      {isCreating && <AddRoute path={path} onClose={creation.close} />}
    </Section>
  );
}

function AddRoute({ path, onClose }: { path: ScriptPath; onClose: () => void }) {
  const { account_id: account, script_name: script } = path;
  const { data: zones } = useQuery({
    queryKey: ["workers", account, "zones"],
    queryFn: () => api.list("/zones", { query: { "account.id": account, per_page: 50 } }),
  });
  const form = useForm({
    initialValues: { zone: "", pattern: "" },
    validate: {
      zone: (zone) => (zone === "" ? "Select a zone" : null),
      pattern: (pattern) => (pattern.trim() === "" ? "Enter a pattern, for example example.com/*" : null),
    },
  });
  return (
    <FormModal
      title="Create route"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/zones/{zone_id}/workers/routes", {
            path: { zone_id: form.values.zone },
            body: { pattern: form.values.pattern.trim(), script },
          })
          .then(() => queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) }))
      }
    >
      <Select
        label="Zone"
        searchable
        data={(zones?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        {...form.getInputProps("zone")}
      />
      <TextInput
        label="Pattern"
        description="A hostname with a path; * matches any characters."
        placeholder="example.com/api/*"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps("pattern")}
      />
    </FormModal>
  );
}
