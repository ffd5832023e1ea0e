import { Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../../../api/client.ts";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { Section } from "../../../shared/page.tsx";
import { SearchField } from "../../../shared/search-field.tsx";
import { StatusBadge, type Tone } from "../../../shared/status-badge.tsx";
import { usePageState } from "../../../shared/use-list.ts";
import { settingsKeys, type Setting } from "../queries.ts";

const ORIGINS: Record<Setting["origin"], { tone: Tone; text: string }> = {
  default: { tone: "neutral", text: "Default" },
  file: { tone: "info", text: "File" },
  environment: { tone: "info", text: "Environment" },
  "command line": { tone: "info", text: "Command line" },
};

function showValue({ value, secret }: Pick<Setting, "value" | "secret">): string {
  if (secret) return value === null ? "••••••" : "not set";
  if (typeof value === "string") return value === "" ? "empty" : value;
  return JSON.stringify(value) ?? "not set";
}

/** Descriptions mark code with backticks, as in the documentation. */
const withCode = (text: string) =>
  text.split("`").map((part, index) =>
    index % 2 === 1 ? (
      <code key={index} className="rp-mono">
        {part}
      </code>
    ) : (
      part
    ),
  );

const COLUMNS: readonly Column<Setting>[] = [
  {
    id: "name",
    header: "Setting",
    width: "30%",
    render: ({ name, variable }) => (
      <>
        <span className="rp-mono">{name}</span>
        <Text fz="xs" c="dimmed" className="rp-mono">
          {variable}
        </Text>
      </>
    ),
  },
  {
    id: "value",
    header: "Value",
    width: "20%",
    render: (setting) => <span className="rp-mono">{showValue(setting)}</span>,
  },
  {
    id: "origin",
    header: "Source",
    width: 120,
    render: ({ origin }) => <StatusBadge tone={ORIGINS[origin].tone}>{ORIGINS[origin].text}</StatusBadge>,
  },
  {
    id: "description",
    header: "Description",
    wideOnly: true,
    render: ({ description }) => <span className="rp-dimmed">{withCode(description)}</span>,
  },
];

/** The settings of the process that responded, from its file, its environment and its command line. */
export function EffectiveSettings({ account }: { account: string }) {
  const [state, change] = usePageState({ setting: "", origin: "" });
  const { data, error, isPending, refetch } = useQuery({
    queryKey: [...settingsKeys.server(account), "settings"],
    queryFn: () => api.get("/accounts/{account_id}/server/settings", { path: { account_id: account } }),
  });
  const items = useMemo(() => {
    const words = state.setting.toLowerCase();
    return (data ?? []).filter(
      ({ name, variable, description, origin }) =>
        `${name} ${variable} ${description}`.toLowerCase().includes(words) &&
        (state.origin === "" || (origin !== "default") === (state.origin === "set")),
    );
  }, [data, state.setting, state.origin]);
  return (
    <Section
      title="Settings"
      description="Change them in the settings file or the environment, and restart the server."
    >
      <div className="rp-toolbar rp-settings-toolbar">
        <SearchField label="Search settings" value={state.setting} onChange={(setting) => change({ setting })} />
        <Select
          aria-label="Source"
          size="xs"
          w={150}
          data={[
            { value: "", label: "All settings" },
            { value: "set", label: "Set by you" },
            { value: "default", label: "Defaults" },
          ]}
          value={state.origin}
          onChange={(origin) => change({ origin: origin ?? "" })}
        />
      </div>
      <DataTable
        label="Settings"
        columns={COLUMNS}
        list={{ items, isLoading: isPending, error, reload: () => void refetch() }}
        rowKey={({ name }) => name}
        empty={<EmptyState icon="search" title="No settings match" />}
      />
    </Section>
  );
}
