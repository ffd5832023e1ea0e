import { Anchor, Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
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

type Domain = ResultOf<"GET", "/accounts/{account_id}/workers/domains">[number];

/** Hostnames for which the worker handles every request. */
export function Domains({ path }: { path: ScriptPath }) {
  const { account_id: account, script_name: service } = path;
  const [isCreating, creation] = useDisclosure(false);
  const { data, isPending, error } = useQuery({
    queryKey: [...workersKeys.worker(path), "domains"],
    queryFn: () =>
      api.get("/accounts/{account_id}/workers/domains", { path: { account_id: account }, query: { service } }),
  });
  const columns: readonly Column<Domain>[] = [
    {
      id: "hostname",
      header: "Hostname",
      render: ({ hostname }) => (
        <Anchor href={`https://${hostname}`} target="_blank" rel="noreferrer" fz="sm">
          {hostname}
        </Anchor>
      ),
    },
    { id: "zone", header: "Zone", render: ({ zone_name: zone }) => zone },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: ({ id, hostname }) => (
        <ConfirmButton
          icon="trash"
          action="Delete domain"
          label={`Delete ${hostname}`}
          onConfirm={async () => {
            await api.delete("/accounts/{account_id}/workers/domains/{domain_id}", {
              path: { account_id: account, domain_id: id },
            });
            await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
          }}
        >
          {hostname} will be deleted. The worker will no longer receive requests for it.
        </ConfirmButton>
      ),
    },
  ];
  return (
    <Section
      title="Domains"
      description="The worker handles every request for these hostnames."
      actions={
        <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
          Add domain
        </Button>
      }
    >
      <DataTable
        label="Domains"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ id }) => id}
        empty={<EmptyState icon="globe" title="No domains" />}
      />
      {isCreating && <AddDomain path={path} onClose={creation.close} />}
    </Section>
  );
}

function AddDomain({ path, onClose }: { path: ScriptPath; onClose: () => void }) {
  const [hostname, setHostname] = useState("");
  const [problem, setProblem] = useState<string>();
  async function add() {
    await api.put("/accounts/{account_id}/workers/domains", {
      path: { account_id: path.account_id },
      body: { hostname: hostname.trim(), service: path.script_name },
    });
    await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
  }
  return (
    <FormModal
      title="Add domain"
      opened
      onClose={onClose}
      onSubmit={() => {
        const isValid = hostname.includes(".");
        setProblem(isValid ? undefined : "Enter a hostname, for example app.example.com");
        return isValid && add();
      }}
    >
      <TextInput
        label="Hostname"
        description="In a zone of this account."
        placeholder="app.example.com"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={hostname}
        error={problem}
        onChange={({ currentTarget }) => setHostname(currentTarget.value)}
      />
    </FormModal>
  );
}
