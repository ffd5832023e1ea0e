import { Button, Checkbox, Group, Paper, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { DownloadZoneFile, RequiredRecords } from "./needed-records.tsx";
import { mailKeys, type RequiredRecord, type RoutingZone, type SendingDomain } from "./queries.ts";

const STATUSES: Record<string, { tone: Tone; text: string }> = {
  ready: { tone: "good", text: "Ready" },
  unconfigured: { tone: "neutral", text: "Not set up" },
  unlocked: { tone: "warning", text: "DNS records not locked" },
  misconfigured: { tone: "bad", text: "DNS records incorrect" },
};

/** Domains from which the account may send. */
export function SendingDomains({ zone, zoneId }: { zone: RoutingZone; zoneId: string }) {
  const [isCreating, creation] = useDisclosure(false);
  const { data, error, refetch } = useQuery({
    queryKey: [...mailKeys.sending(zoneId), "domains"],
    queryFn: () => api.get("/zones/{zone_id}/email/sending/subdomains", { path: { zone_id: zoneId } }),
  });
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Add sending domain
    </Button>
  );
  return (
    <Section
      title="Sending domains"
      description="You can send mail from addresses at these domains."
      actions={data !== undefined && data.length > 0 && create}
    >
      {data === undefined ? (
        error === null ? (
          <LoadingState rows={3} />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : data.length === 0 ? (
        <EmptyState icon="send" title="No sending domains yet" actions={create}>
          Add {zone.name} or a subdomain to send from its addresses.
        </EmptyState>
      ) : (
        <Stack gap="md">
          {data.map((domain) => (
            <DomainCard key={domain.tag} zoneId={zoneId} domain={domain} />
          ))}
        </Stack>
      )}
      {isCreating && <AddDomain zone={zone} zoneId={zoneId} onClose={creation.close} />}
    </Section>
  );
}

function DomainCard({ zoneId, domain }: { zoneId: string; domain: SendingDomain }) {
  const path = { zone_id: zoneId, subdomain_id: domain.tag };
  const invalidates = [mailKeys.sending(zoneId)];
  const { data, error } = useQuery({
    queryKey: [...mailKeys.sending(zoneId), domain.tag],
    queryFn: () => api.get("/zones/{zone_id}/email/sending/subdomains/{subdomain_id}/dns/status", { path }),
  });
  const update = useAction(
    (body: { preview_enabled?: boolean; drop_suppressed_recipients?: boolean }) =>
      api.patch("/zones/{zone_id}/email/sending/subdomains/{subdomain_id}", { path, body }),
    { done: "Setting saved", failed: "Could not save the setting", invalidates },
  );
  const createRecords = useAction(
    () => api.post("/zones/{zone_id}/email/sending/subdomains/{subdomain_id}/dns", { path }),
    { done: "Records created", failed: "Could not create the records", invalidates },
  );
  const status = data === undefined ? undefined : STATUSES[data.status];
  return (
    <Paper p="sm" component="article" aria-label={domain.name}>
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <b>{domain.name}</b>
            {status !== undefined && <StatusBadge tone={status.tone}>{status.text}</StatusBadge>}
          </Group>
          <Group gap="xs">
            {data !== undefined && data.errors.length > 0 && (
              <Button variant="default" loading={createRecords.isPending} onClick={() => createRecords.mutate()}>
                Create records
              </Button>
            )}
            {data !== undefined && <DownloadZoneFile domain={domain.name} records={data.records as RequiredRecord[]} />}
            <ConfirmButton
              icon="trash"
              action="Delete sending domain"
              label={`Delete ${domain.name}`}
              onConfirm={async () => {
                await api.delete("/zones/{zone_id}/email/sending/subdomains/{subdomain_id}", { path });
                await queryClient.invalidateQueries({ queryKey: mailKeys.sending(zoneId) });
              }}
            >
              {domain.name} will be deleted. The server will reject mail that you send from it.
            </ConfirmButton>
          </Group>
        </Group>
        <Group gap="lg">
          <Checkbox
            label="Keep the content of sent messages"
            checked={domain.preview_enabled}
            onChange={({ currentTarget }) => update.mutate({ preview_enabled: currentTarget.checked })}
          />
          <Checkbox
            label="Skip suppressed recipients"
            checked={domain.drop_suppressed_recipients}
            onChange={({ currentTarget }) => update.mutate({ drop_suppressed_recipients: currentTarget.checked })}
          />
        </Group>
        {error !== null && <ErrorState error={error} />}
        {data !== undefined && <RequiredRecords records={data.records as RequiredRecord[]} problems={data.errors} />}
      </Stack>
    </Paper>
  );
}

function AddDomain({ zone, zoneId, onClose }: { zone: RoutingZone; zoneId: string; onClose: () => void }) {
  const notify = useNotify();
  const form = useForm({
    initialValues: { name: zone.name },
    validate: {
      name: (name) => (name.trim().endsWith(zone.name) ? null : `Enter ${zone.name} or one of its subdomains`),
    },
  });

  async function save() {
    const { name } = await api.post("/zones/{zone_id}/email/sending/subdomains", {
      path: { zone_id: zoneId },
      body: { name: form.values.name.trim() },
    });
    notify.success(`Sending domain ${name} added`);
    await queryClient.invalidateQueries({ queryKey: mailKeys.sending(zoneId) });
  }

  return (
    <FormModal
      title="Add sending domain"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <TextInput
        label="Name"
        description={`${zone.name} or a subdomain, for example mail.${zone.name}.`}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        {...form.getInputProps("name")}
      />
    </FormModal>
  );
}
