import { Button, Group, Select, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton, ConfirmModal, ActionMenu } from "../../shared/confirm-button.tsx";
import { CopyButton } from "../../shared/copy.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { SearchField } from "../../shared/search-field.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { countOf } from "../../shared/text.ts";
import { useAction } from "../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../shared/use-list.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { ImportRecords } from "./import-records.tsx";
import { dnsKeys, type DnsRecord, type Zone } from "./queries.ts";
import { RecordForm, relativeName } from "./record-form.tsx";
import { RECORD_FORMS } from "./record-types.ts";
import { ZoneFrame } from "./zone-frame.tsx";

const TYPES = [{ value: "", label: "All types" }, ...RECORD_FORMS.map(({ type }) => ({ value: type, label: type }))];

export default function RecordsPage() {
  const [editing, setEditing] = useState<DnsRecord | "new">();
  const [isImporting, importing] = useDisclosure(false);
  return (
    <ZoneFrame
      tab="records"
      actions={(zone) => (
        <>
          <ExportButton zone={zone} />
          <Button variant="default" leftSection={<Icon name="upload" size={14} />} onClick={importing.open}>
            Import
          </Button>
          <Button leftSection={<Icon name="plus" size={14} />} onClick={() => setEditing("new")}>
            Create record
          </Button>
        </>
      )}
    >
      {(zone) => (
        <>
          <Records zone={zone} onEdit={setEditing} onImport={importing.open} />
          {editing !== undefined && (
            <EditRecord
              zone={zone}
              {...(editing !== "new" && { record: editing })}
              onClose={() => setEditing(undefined)}
            />
          )}
          <ImportRecords zone={zone} opened={isImporting} onClose={importing.close} />
        </>
      )}
    </ZoneFrame>
  );
}

function EditRecord({ zone, record, onClose }: { zone: Zone; record?: DnsRecord; onClose: () => void }) {
  const notify = useNotify();
  return (
    <RecordForm
      zone={zone}
      {...(record !== undefined && { record })}
      onClose={onClose}
      onSaved={({ name, type }) => {
        notify.success(`Record ${type} ${name} ${record === undefined ? "created" : "saved"}`);
        void queryClient.invalidateQueries({ queryKey: dnsKeys.records(zone.id) });
      }}
    />
  );
}

function ExportButton({ zone }: { zone: Zone }) {
  const download = useAction(
    async () => {
      const response = await api.raw("GET", "/zones/{zone_id}/dns_records/export", { path: { zone_id: zone.id } });
      saveFile(await response.blob(), `${zone.name}.txt`);
    },
    { failed: "Could not export the records" },
  );
  return (
    <Button
      variant="default"
      leftSection={<Icon name="download" size={14} />}
      loading={download.isPending}
      onClick={() => download.mutate()}
    >
      Export
    </Button>
  );
}

function Records({
  zone,
  onEdit,
  onImport,
}: {
  zone: Zone;
  onEdit: (record: DnsRecord | "new") => void;
  onImport: () => void;
}) {
  const [state, change] = usePageState({ page: 1, search: "", type: "", order: "name", direction: "asc" });
  const { page, search, type, order, direction } = state as typeof state & { order: "name"; direction: "asc" };
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [deleting, setDeleting] = useState<DnsRecord>();
  const list = usePagedList<DnsRecord>(
    [...dnsKeys.records(zone.id), search, type, order, direction],
    page,
    (request) =>
      api.list("/zones/{zone_id}/dns_records", {
        path: { zone_id: zone.id },
        query: {
          ...request,
          order,
          direction,
          ...(search !== "" && { search }),
          ...(type !== "" && { type: type as never }),
        },
      }),
    { perPage: 100 },
  );
  const remove = async (ids: readonly string[]) => {
    await api.post("/zones/{zone_id}/dns_records/batch", {
      path: { zone_id: zone.id },
      body: { deletes: ids.map((id) => ({ id })) },
    });
    setSelected(new Set());
    await queryClient.invalidateQueries({ queryKey: dnsKeys.records(zone.id) });
  };
  const isFiltered = search !== "" || type !== "";
  const columns: readonly Column<DnsRecord>[] = [
    { id: "type", header: "Type", sortable: true, width: 96, render: (record) => <b>{record.type}</b> },
    {
      id: "name",
      header: "Name",
      sortable: true,
      width: "24%",
      render: ({ name }) => <span title={name}>{relativeName(name, zone.name)}</span>,
    },
    {
      id: "content",
      header: "Content",
      sortable: true,
      render: ({ content, priority, comment }) => (
        <>
          <Group gap={4} wrap="nowrap">
            <span className="rp-mono">{priority === undefined ? content : `${priority} ${content}`}</span>
            <CopyButton value={content} label="Copy content" />
          </Group>
          {comment !== null && comment !== "" && (
            <Text fz="xs" c="dimmed">
              {comment}
            </Text>
          )}
        </>
      ),
    },
    {
      id: "ttl",
      header: "TTL",
      sortable: true,
      width: 96,
      wideOnly: true,
      render: ({ ttl }) => (ttl === 1 ? <span className="rp-dimmed">Automatic</span> : `${ttl} s`),
    },
    {
      id: "managed",
      header: "Managed by",
      width: 140,
      wideOnly: true,
      render: ({ meta }) =>
        typeof meta["managed_by"] === "string" && <StatusBadge>{meta["managed_by"].replaceAll("_", " ")}</StatusBadge>,
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      align: "end",
      render: (record) => (
        <ActionMenu
          label={`Actions for ${record.type} ${record.name}`}
          items={[
            { label: "Edit", icon: "edit", disabled: record.meta["read_only"] === true, onClick: () => onEdit(record) },
            {
              label: "Delete",
              icon: "trash",
              danger: true,
              disabled: record.meta["read_only"] === true,
              onClick: () => setDeleting(record),
            },
          ]}
        />
      ),
    },
  ];

  return (
    <>
      <div className="rp-toolbar" style={{ marginBottom: "0.75rem" }}>
        <SearchField label="Search records" value={search} onChange={(value) => change({ search: value, page: 1 })} />
        <Select
          aria-label="Type"
          size="xs"
          w={130}
          data={TYPES}
          value={type}
          onChange={(value) => change({ type: value ?? "", page: 1 })}
        />
      </div>
      <DataTable
        label="DNS records"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        rowName={(record) => `${record.type} ${record.name}`}
        onPage={(next) => change({ page: next })}
        sort={{ order, direction }}
        onSort={(sort) => change({ ...sort, page: 1 })}
        selected={selected}
        onSelect={setSelected}
        bulkActions={
          <ConfirmButton action="Delete records" onConfirm={() => remove([...selected])}>
            {countOf(selected.size, "record")} of {zone.name} will be deleted.
          </ConfirmButton>
        }
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title="No records match"
              actions={
                <Button variant="default" onClick={() => change({ search: "", type: "", page: 1 })}>
                  Clear filters
                </Button>
              }
            />
          ) : (
            <EmptyState
              icon="list"
              title="No records yet"
              actions={
                <>
                  <Button variant="default" onClick={onImport}>
                    Import a zone file
                  </Button>
                  <Button onClick={() => onEdit("new")}>Create record</Button>
                </>
              }
            >
              Enabling Email Routing for {zone.name} creates the records that mail needs.
            </EmptyState>
          )
        }
      />
      {deleting !== undefined && (
        <ConfirmModal
          action="Delete record"
          opened
          onClose={() => setDeleting(undefined)}
          onConfirm={() => remove([deleting.id])}
        >
          {deleting.type} {deleting.name} will be deleted. Resolvers may return it until its TTL expires.
        </ConfirmModal>
      )}
    </>
  );
}
