import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import type { ResultOf } from "../../api/client.ts";
import { DomainFrame } from "./domain-frame.tsx";
import { mailKeys } from "./queries.ts";
import { SendingDomains } from "./sending-domains.tsx";

type DkimKey = ResultOf<"GET", "/zones/{zone_id}/email/routing/dkim">[number];

const STATES: Record<DkimKey["state"], { tone: Tone; text: string }> = {
  next: { tone: "info", text: "Pending" },
  active: { tone: "good", text: "Active" },
  retired: { tone: "neutral", text: "Retired" },
};

const COLUMNS: readonly Column<DkimKey>[] = [
  { id: "domain", header: "Domain", render: ({ domain }) => <b>{domain}</b> },
  { id: "selector", header: "Selector", render: ({ selector }) => <span className="rp-mono">{selector}</span> },
  {
    id: "algorithm",
    header: "Algorithm",
    width: 110,
    render: ({ algorithm }) => (algorithm === "rsa" ? "RSA" : "Ed25519"),
  },
  {
    id: "state",
    header: "Status",
    width: 100,
    render: ({ state }) => <StatusBadge tone={STATES[state].tone}>{STATES[state].text}</StatusBadge>,
  },
  { id: "created", header: "Created", width: 130, render: ({ created }) => <RelativeTime value={created} /> },
  {
    id: "retired",
    header: "Retired",
    width: 130,
    wideOnly: true,
    render: ({ retired }) => <RelativeTime value={retired} />,
  },
];

export default function SendingPage() {
  return (
    <DomainFrame tab="sending">
      {(zone, zoneId) => (
        <Stack gap="lg">
          <SendingDomains zone={zone} zoneId={zoneId} />
          <DkimKeys zoneId={zoneId} domain={zone.name} />
        </Stack>
      )}
    </DomainFrame>
  );
}

function DkimKeys({ zoneId, domain }: { zoneId: string; domain: string }) {
  const {
    data = [],
    error,
    isPending,
  } = useQuery({
    queryKey: [...mailKeys.sending(zoneId), "dkim"],
    queryFn: () => api.get("/zones/{zone_id}/email/routing/dkim", { path: { zone_id: zoneId } }),
  });
  return (
    <Section
      title="DKIM keys"
      description="Forwarded and sent mail is signed with the active key. A retired key stays published while mail signed with it may still be in transit."
      actions={
        <ConfirmButton
          action="Rotate key"
          danger={false}
          disabled={data.length === 0}
          onConfirm={async () => {
            await api.post("/zones/{zone_id}/email/routing/dkim/rotate", { path: { zone_id: zoneId }, body: {} });
            await queryClient.invalidateQueries({ queryKey: mailKeys.sending(zoneId) });
          }}
        >
          A new key for {domain} will be published. The server signs with it as soon as public DNS returns it; the old
          key stays published for a week. If another provider hosts the DNS of the domain, publish the new record there.
        </ConfirmButton>
      }
    >
      <DataTable
        label="DKIM keys"
        columns={COLUMNS}
        list={{ items: data, isLoading: isPending, error }}
        rowKey={({ id, selector }) => `${id} ${selector}`}
        empty={
          <EmptyState icon="key" title="No DKIM keys yet">
            Enabling Email Routing creates them.
          </EmptyState>
        }
      />
    </Section>
  );
}
