import { Button, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";
import { CopyField } from "../../shared/copy.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { dnsKeys, type Zone } from "./queries.ts";
import { ZoneFrame } from "./zone-frame.tsx";

type Finding = ResultOf<"GET", "/zones/{zone_id}/email/doctor">[number];

const STATUSES: Record<Finding["status"], { tone: Tone; text: string }> = {
  ok: { tone: "good", text: "Passed" },
  warning: { tone: "warning", text: "Warning" },
  error: { tone: "bad", text: "Failed" },
};

export default function VerificationPage() {
  return (
    <ZoneFrame tab="verification">
      {(zone) => (
        <Stack gap="lg">
          <NameServers zone={zone} />
          <Checks zone={zone} />
        </Stack>
      )}
    </ZoneFrame>
  );
}

function NameServers({ zone }: { zone: Zone }) {
  return (
    <Section
      title="Name servers"
      description={
        zone.status === "active"
          ? "The registrar delegates the zone to these name servers."
          : "Enter these name servers at the registrar of the domain."
      }
    >
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="xs" verticalSpacing="xs">
        {zone.name_servers.map((name) => (
          <CopyField key={name} value={name} />
        ))}
      </SimpleGrid>
    </Section>
  );
}

function Checks({ zone }: { zone: Zone }) {
  const { data, error, isFetching, dataUpdatedAt, refetch } = useQuery({
    queryKey: dnsKeys.verification(zone.id),
    queryFn: () => api.get("/zones/{zone_id}/email/doctor", { path: { zone_id: zone.id } }),
    staleTime: 60_000,
  });
  return (
    <Section
      title="Checks"
      description={
        dataUpdatedAt === 0 ? (
          "Public DNS, mail hosts and certificates, as other servers see them."
        ) : (
          <>
            Checked <RelativeTime value={dataUpdatedAt} />
          </>
        )
      }
      actions={
        <Button
          variant="default"
          leftSection={<Icon name="refresh" size={14} />}
          loading={isFetching}
          onClick={() => void refetch()}
        >
          Run checks
        </Button>
      }
    >
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <LoadingState rows={6} label="Checking the zone" />}
      {data !== undefined && (
        <Paper p={0}>
          <ul className="rp-dns-checks">
            {data.map((finding, index) => (
              <FindingRow key={index} finding={finding} />
            ))}
          </ul>
        </Paper>
      )}
    </Section>
  );
}

function FindingRow({ finding: { check, status, found, expected, fix } }: { finding: Finding }) {
  const { tone, text } = STATUSES[status];
  return (
    <li>
      <StatusBadge tone={tone}>{text}</StatusBadge>
      <div>
        <Text fz="sm" fw={500} component="h3" m={0}>
          {check}
        </Text>
        {found !== undefined && (
          <Text fz="xs" c="dimmed" className="rp-mono">
            {found}
          </Text>
        )}
        {status !== "ok" && expected !== undefined && (
          <Text fz="xs" mt={2}>
            Expected: <span className="rp-mono">{expected}</span>
          </Text>
        )}
        {fix !== undefined && (
          <Text fz="sm" mt={2}>
            {fix}
          </Text>
        )}
      </div>
    </li>
  );
}
