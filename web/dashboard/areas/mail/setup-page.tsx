import { Anchor, Button, Stack, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { queryClient } from "../../api/query-client.ts";
import { DomainFrame } from "./domain-frame.tsx";
import { DownloadZoneFile, RequiredRecords } from "./needed-records.tsx";
import { mailKeys, type RequiredRecord, type RoutingZone } from "./queries.ts";

export default function SetupPage() {
  return (
    <DomainFrame tab="setup">
      {(zone, zoneId) => (
        <Stack gap="lg">
          <Routing zone={zone} zoneId={zoneId} />
          <Records zone={zone} zoneId={zoneId} />
          <Verification zoneId={zoneId} />
        </Stack>
      )}
    </DomainFrame>
  );
}

interface ZoneProps {
  zone: RoutingZone;
  zoneId: string;
}

function Routing({ zone, zoneId }: ZoneProps) {
  const invalidates = [mailKeys.domain(zoneId)];
  const enable = useAction(
    () => api.post("/zones/{zone_id}/email/routing/dns", { path: { zone_id: zoneId }, body: {} }),
    { done: `Email Routing enabled for ${zone.name}`, failed: "Could not enable Email Routing", invalidates },
  );
  const subaddress = useAction(
    (on: boolean) =>
      api.patch("/zones/{zone_id}/email/routing", { path: { zone_id: zoneId }, body: { support_subaddress: on } }),
    { done: "Setting saved", failed: "Could not save the setting", invalidates },
  );
  const isReady = zone.enabled && zone.status === "ready";
  return (
    <Section
      title="Email Routing"
      description={
        zone.enabled
          ? `The server receives mail for ${zone.name}.`
          : `Enabling it creates the records below in the zone and routes mail for ${zone.name} to this server.`
      }
      actions={
        <>
          {zone.enabled && (
            <ConfirmButton
              action="Disable Email Routing"
              onConfirm={async () => {
                await api.delete("/zones/{zone_id}/email/routing/dns", { path: { zone_id: zoneId }, body: {} });
                await queryClient.invalidateQueries({ queryKey: mailKeys.domains });
              }}
            >
              The mail records of {zone.name} will be deleted, and mail for it will be rejected. Rules are kept.
            </ConfirmButton>
          )}
          {!isReady && (
            <Button loading={enable.isPending} onClick={() => enable.mutate()}>
              {zone.enabled ? "Create records" : "Enable Email Routing"}
            </Button>
          )}
        </>
      }
    >
      <Switch
        label="Subaddressing"
        description="Mail to user+tag@ matches the rule for user@."
        checked={zone.support_subaddress}
        disabled={subaddress.isPending}
        onChange={({ currentTarget }) => subaddress.mutate(currentTarget.checked)}
      />
      {zone.enabled && (
        <Text fz="sm" mt="sm">
          Next:{" "}
          <Anchor
            fz="sm"
            underline="always"
            renderRoot={(props) => <Link to={`/mail/domains/${zoneId}/rules`} {...props} />}
          >
            create routing rules
          </Anchor>
          .
        </Text>
      )}
    </Section>
  );
}

function Records({ zone, zoneId }: ZoneProps) {
  const { data, error, refetch } = useQuery({
    queryKey: [...mailKeys.domain(zoneId), "records"],
    queryFn: async () => {
      // With a name, the response also lists the differences from the existing records.
      const result = await api.get("/zones/{zone_id}/email/routing/dns", {
        path: { zone_id: zoneId },
        query: { subdomain: zone.name },
      });
      return Array.isArray(result)
        ? { records: result as RequiredRecord[], problems: [] }
        : { records: result.record as RequiredRecord[], problems: result.errors };
    },
  });
  return (
    <Section
      title="DNS records"
      description={
        zone.status === "unlocked"
          ? "The records are not locked, so they can be edited or deleted by mistake. Select Create records to lock them."
          : "Email Routing creates them in the zone. If another provider hosts the DNS of the domain, create them there."
      }
      actions={data !== undefined && <DownloadZoneFile domain={zone.name} records={data.records} />}
    >
      {data === undefined ? (
        error === null ? (
          <LoadingState rows={4} />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <RequiredRecords {...data} />
      )}
    </Section>
  );
}

const TONES = { ok: "good", warning: "warning", error: "bad" } as const satisfies Record<string, Tone>;
const TEXTS = { ok: "Passed", warning: "Warning", error: "Failed" };

/** Checks of public DNS and of the mail ports; they can take seconds, so they run on request. */
function Verification({ zoneId }: { zoneId: string }) {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["mail", "verification", zoneId],
    queryFn: () => api.get("/zones/{zone_id}/email/doctor", { path: { zone_id: zoneId } }),
    enabled: false,
  });
  return (
    <Section
      title="Checks"
      description="Public DNS, the mail ports, reverse DNS and the certificate, as other mail servers see them."
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
      {error !== null && <ErrorState error={error} />}
      {data !== undefined && (
        <ul className="rp-mail-rows" aria-label="Checks">
          {data.map(({ check, status, found, expected, fix }, index) => (
            <li key={index}>
              <span className="rp-mail-method">
                <StatusBadge tone={TONES[status]}>{TEXTS[status]}</StatusBadge>
              </span>
              <div>
                <b>{check}</b>
                {found !== undefined && <div className="rp-mono rp-dimmed">{found}</div>}
                {status !== "ok" && expected !== undefined && <div>Expected: {expected}</div>}
                {fix !== undefined && <div>{fix}</div>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
