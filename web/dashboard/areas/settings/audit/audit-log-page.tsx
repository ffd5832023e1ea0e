import { Anchor, Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { SearchField } from "../../../shared/search-field.tsx";
import { useAction } from "../../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../../shared/use-list.ts";
import { settingsKeys, type AuditEntry } from "../queries.ts";
import { EntryDetails } from "./entry-details.tsx";

const DAY_MS = 86_400_000;
const NO_FILTER = { page: 1, email: "", type: "", zone: "", since: "", before: "" };

/** `before` is the last day to include; the API expects the end of that day. */
const endOf = (day: string) => new Date(Date.parse(day) + DAY_MS).toISOString();

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

export default function AuditLogPage() {
  const account = useAccount();
  const [state, change] = usePageState(NO_FILTER);
  const [opened, setOpened] = useState<AuditEntry>();
  const { page, email, type, zone, since, before } = state;
  const filter = {
    ...(email !== "" && { "actor.email": email }),
    ...(type !== "" && { "action.type": type }),
    ...(zone !== "" && { "zone.name": zone }),
    ...(isDay(since) && { since }),
    ...(isDay(before) && { before: endOf(before) }),
  };
  const isFiltered = Object.keys(filter).length > 0;
  const list = usePagedList<AuditEntry>([...settingsKeys.audit(account.id), filter], page, (request) =>
    api.list("/accounts/{account_id}/audit_logs", {
      path: { account_id: account.id },
      query: { ...request, ...filter } as never,
    }),
  );
  const download = useAction(
    async () => {
      const response = await api.raw("GET", "/accounts/{account_id}/audit_logs", {
        path: { account_id: account.id },
        query: { ...filter, export: "true" },
      });
      saveFile(await response.blob(), "audit-log.csv");
    },
    { failed: "Could not download the audit log" },
  );
  const columns: readonly Column<AuditEntry>[] = [
    {
      id: "change",
      header: "Change",
      render: (entry) => (
        <Anchor component="button" type="button" fz="sm" fw={500} ta="start" onClick={() => setOpened(entry)}>
          {entry.metadata.summary}
        </Anchor>
      ),
    },
    { id: "actor", header: "Actor", render: ({ actor }) => actor.email ?? "Operator" },
    {
      id: "resource",
      header: "Resource",
      wideOnly: true,
      render: ({ resource, metadata }) => (
        <span className="rp-mono rp-dimmed">{metadata.zone_name ?? resource.id ?? resource.type}</span>
      ),
    },
    {
      id: "ip",
      header: "IP address",
      wideOnly: true,
      width: 140,
      render: ({ actor }) => <span className="rp-mono rp-dimmed">{actor.ip ?? "–"}</span>,
    },
    { id: "when", header: "Time", width: 130, render: ({ when }) => <RelativeTime value={when} /> },
  ];
  return (
    <Page
      title="Audit log"
      description="All changes to the account: who made them, and the values before and after."
      actions={
        <Button
          variant="default"
          leftSection={<Icon name="download" size={14} />}
          loading={download.isPending}
          onClick={() => download.mutate()}
        >
          Download CSV
        </Button>
      }
    >
      <div className="rp-toolbar">
        <SearchField
          label="Actor email"
          value={email}
          width={200}
          onChange={(value) => change({ email: value.trim(), page: 1 })}
        />
        <Select
          aria-label="Action"
          size="xs"
          w={140}
          data={[
            { value: "", label: "All actions" },
            { value: "create", label: "Additions" },
            { value: "update", label: "Changes" },
            { value: "delete", label: "Deletions" },
          ]}
          value={type}
          onChange={(value) => change({ type: value ?? "", page: 1 })}
        />
        <SearchField
          label="Zone"
          value={zone}
          width={160}
          onChange={(value) => change({ zone: value.trim(), page: 1 })}
        />
        <Day label="From" value={since} onChange={(value) => change({ since: value, page: 1 })} />
        <Day label="To" value={before} onChange={(value) => change({ before: value, page: 1 })} />
        {isFiltered && (
          <Button variant="subtle" onClick={() => change(NO_FILTER)}>
            Clear filters
          </Button>
        )}
      </div>
      <DataTable
        label="Audit log"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onRowClick={setOpened}
        onPage={(next) => change({ page: next })}
        empty={<EmptyState icon="list" title={isFiltered ? "No changes match the filters" : "No changes yet"} />}
      />
      {opened !== undefined && <EntryDetails entry={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

function Day({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      aria-label={label}
      type="date"
      size="xs"
      leftSection={<span className="rp-settings-day">{label}</span>}
      leftSectionWidth={44}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
