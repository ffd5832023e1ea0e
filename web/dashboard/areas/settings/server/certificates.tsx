import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Section } from "../../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../../shared/status-badge.tsx";
import { settingsKeys, type Certificate } from "../queries.ts";

const SOON_MS = 14 * 86_400_000;
const SOURCES: Record<Certificate["source"], string> = {
  file: "File",
  acme: "ACME",
  "self-signed": "Self-signed",
};

function statusOf({ not_after: end, error }: Certificate): { tone: Tone; text: string } {
  if (error !== null) return { tone: "bad", text: "Failed" };
  if (end === null) return { tone: "info", text: "Pending" };
  const left = Date.parse(end) - Date.now();
  if (left <= 0) return { tone: "bad", text: "Expired" };
  return left < SOON_MS ? { tone: "warning", text: "Expires soon" } : { tone: "good", text: "Valid" };
}

const COLUMNS: readonly Column<Certificate>[] = [
  {
    id: "names",
    header: "Names",
    render: ({ names, error }) => (
      <>
        <span className="rp-mono">{names.join(", ") || "–"}</span>
        {error !== null && (
          <Text fz="sm" c="var(--rp-bad)">
            {error}
          </Text>
        )}
      </>
    ),
  },
  {
    id: "status",
    header: "Status",
    width: 120,
    render: (certificate) => {
      const { tone, text } = statusOf(certificate);
      return <StatusBadge tone={tone}>{text}</StatusBadge>;
    },
  },
  { id: "source", header: "Source", width: 110, render: ({ source }) => SOURCES[source] },
  { id: "issuer", header: "Issuer", wideOnly: true, render: ({ issuer }) => issuer ?? "–" },
  { id: "expires", header: "Expires", width: 130, render: ({ not_after: end }) => <RelativeTime value={end} /> },
  {
    id: "renews",
    header: "Renews",
    width: 130,
    wideOnly: true,
    render: ({ renews }) => <RelativeTime value={renews} />,
  },
];

export function Certificates({ account }: { account: string }) {
  const {
    data = [],
    error,
    isPending,
    refetch,
  } = useQuery({
    queryKey: [...settingsKeys.server(account), "certificates"],
    queryFn: () => api.get("/accounts/{account_id}/server/certificates", { path: { account_id: account } }),
  });
  return (
    <Section title="Certificates">
      <DataTable
        label="Certificates"
        columns={COLUMNS}
        list={{ items: data, isLoading: isPending, error, reload: () => void refetch() }}
        rowKey={({ names, source }) => `${source} ${names.join()}`}
        empty={
          <EmptyState icon="shield" title="No certificates">
            The server does not use TLS. Set tls.https, with tls.acme_directory or tls.cert_file, to serve HTTPS.
          </EmptyState>
        }
      />
    </Section>
  );
}
