import { Button, Group, Paper, Switch } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { actionOf, ActionFields, missingTarget, valuesOfAction, type ActionValues } from "./action-fields.tsx";
import { mailKeys, type Rule } from "./queries.ts";
import { actionSummary } from "./rule-text.ts";

/** The rule for addresses that no other rule matches. */
export function CatchAll({ zoneId }: { zoneId: string }) {
  const [isEditing, editing] = useDisclosure(false);
  const { data, error } = useQuery({
    queryKey: [...mailKeys.rules(zoneId), "catch-all"],
    queryFn: () => api.get("/zones/{zone_id}/email/routing/rules/catch_all", { path: { zone_id: zoneId } }),
  });
  return (
    <Section
      title="Catch-all"
      description="Handles mail to addresses that no rule matches. While it is disabled, the server rejects that mail."
      actions={
        <Button variant="default" disabled={data === undefined} onClick={editing.open}>
          Edit catch-all
        </Button>
      }
    >
      {data === undefined ? (
        error === null ? (
          <LoadingState rows={1} />
        ) : (
          <ErrorState error={error} />
        )
      ) : (
        <Paper p="sm">
          <Group gap="sm">
            <StatusBadge tone={data.enabled ? "good" : "neutral"}>{data.enabled ? "Enabled" : "Disabled"}</StatusBadge>
            <span>{data.actions.map(actionSummary).join("; ")}</span>
          </Group>
        </Paper>
      )}
      {isEditing && data !== undefined && <EditCatchAll zoneId={zoneId} rule={data} onClose={editing.close} />}
    </Section>
  );
}

function EditCatchAll({ zoneId, rule, onClose }: { zoneId: string; rule: Rule; onClose: () => void }) {
  const notify = useNotify();
  const form = useForm<ActionValues & { enabled: boolean }>({
    initialValues: { enabled: true, ...valuesOfAction(rule.actions[0]) },
    validate: { targets: (_, values) => missingTarget(values) },
  });
  return (
    <FormModal
      title="Edit catch-all"
      submitLabel="Save catch-all"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .put("/zones/{zone_id}/email/routing/rules/catch_all", {
            path: { zone_id: zoneId },
            body: {
              name: rule.name,
              enabled: form.values.enabled,
              matchers: [{ type: "all" }],
              actions: [actionOf(form.values)],
            },
          })
          .then(async () => {
            notify.success("Catch-all saved");
            await queryClient.invalidateQueries({ queryKey: mailKeys.rules(zoneId) });
          })
      }
    >
      <ActionFields form={form as never} />
      <Switch label="Enabled" {...form.getInputProps("enabled", { type: "checkbox" })} />
    </FormModal>
  );
}
