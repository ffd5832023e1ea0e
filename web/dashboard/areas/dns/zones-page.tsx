import { Anchor, Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { dnsKeys, type Zone } from "./queries.ts";
import { ZoneStatus } from "./zone-status.tsx";

const hrefOf = ({ id }: Zone) => `/dns/${id}`;

export default function ZonesPage() {
  const account = useAccount();
  const [state, change] = usePageState({ page: 1, search: "", order: "name", direction: "asc" });
  const [isCreating, creation] = useDisclosure(false);
  const { page, search, order, direction } = state as typeof state & { order: "name"; direction: "asc" };
  const list = usePagedList<Zone>([...dnsKeys.zones, account.id, search, order, direction], page, (request) =>
    api.list("/zones", {
      query: {
        ...request,
        "account.id": account.id,
        order,
        direction,
        ...(search !== "" && { name: `contains:${search}` as never }),
      },
    }),
  );
  const columns: readonly Column<Zone>[] = [
    {
      id: "name",
      header: "Zone",
      sortable: true,
      render: (zone) => (
        <Anchor renderRoot={(props) => <Link to={hrefOf(zone)} {...props} />} fw={500} fz="sm">
          {zone.name}
        </Anchor>
      ),
    },
    { id: "status", header: "Status", sortable: true, width: 120, render: (zone) => <ZoneStatus zone={zone} /> },
    {
      id: "name_servers",
      header: "Name servers",
      wideOnly: true,
      render: ({ name_servers: servers }) => <span className="rp-mono rp-dimmed">{servers.join(", ")}</span>,
    },
    {
      id: "created_on",
      header: "Created",
      width: 140,
      render: ({ created_on: created }) => <RelativeTime value={created} />,
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (zone) => <DeleteZone zone={zone} />,
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create zone
    </Button>
  );

  return (
    <Page
      title="DNS"
      description="Zones and their records. Mail, workers and videos on a domain need records in its zone."
      actions={create}
    >
      <div className="rp-toolbar">
        <SearchField label="Search zones" value={search} onChange={(value) => change({ search: value, page: 1 })} />
      </div>
      <DataTable
        label="Zones"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        rowHref={hrefOf}
        onPage={(next) => change({ page: next })}
        sort={{ order, direction }}
        onSort={(sort) => change({ ...sort, page: 1 })}
        empty={
          search === "" ? (
            <EmptyState icon="globe" title="No zones yet" actions={create}>
              A zone holds the DNS records of a domain.
            </EmptyState>
          ) : (
            <EmptyState icon="search" title={`No zones match “${search}”`} />
          )
        }
      />
      <CreateZone opened={isCreating} onClose={creation.close} />
    </Page>
  );
}

function DeleteZone({ zone: { id, name } }: { zone: Zone }) {
  const notify = useNotify();
  return (
    <ConfirmButton
      icon="trash"
      action="Delete zone"
      label={`Delete ${name}`}
      confirmText={name}
      onConfirm={async () => {
        await api.delete("/zones/{zone_id}", { path: { zone_id: id } });
        await queryClient.invalidateQueries({ queryKey: dnsKeys.zones });
        notify.success(`Zone ${name} deleted`);
      }}
    >
      {name} and all its records will be deleted, and mail for its addresses will be rejected.
    </ConfirmButton>
  );
}

function CreateZone({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  const form = useForm({
    initialValues: { name: "" },
    validate: { name: (name) => (name.trim().includes(".") ? null : "Enter a domain, for example example.com") },
  });

  return (
    <FormModal
      title="Create zone"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api.post("/zones", { body: { name: form.values.name.trim(), account: { id: account.id } } }).then((zone) => {
          notify.success(`Zone ${zone.name} created`);
          form.reset();
          void queryClient.invalidateQueries({ queryKey: dnsKeys.zones });
          void navigate({ to: hrefOf(zone) });
        })
      }
    >
      <TextInput
        label="Domain"
        description="The domain itself or a subdomain that is delegated to this server."
        placeholder="example.com"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps("name")}
      />
    </FormModal>
  );
}
