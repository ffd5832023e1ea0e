import { Button, Group, Paper, PasswordInput, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { ConfirmModal } from "../../../shared/confirm-button.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Section } from "../../../shared/page.tsx";
import { StatusBadge } from "../../../shared/status-badge.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { passwordQuery, settingsKeys } from "../queries.ts";
import { useConfirmation } from "./use-confirmation.tsx";

export function Password() {
  const { data, error } = useQuery(passwordQuery);
  const [isSetting, setting] = useDisclosure(false);
  const [isDeleting, deletion] = useDisclosure(false);
  const isSet = data?.enabled === true;
  return (
    <Section title="Password">
      {error !== null ? (
        <ErrorState error={error} />
      ) : (
        <Paper>
          <Group justify="space-between" gap="sm">
            <Group gap="sm">
              <StatusBadge tone={isSet ? "good" : "neutral"}>{isSet ? "Set" : "Not set"}</StatusBadge>
              {data?.changed_on != null && (
                <Text fz="sm" c="dimmed" component="div">
                  Changed <RelativeTime value={data.changed_on} />
                </Text>
              )}
            </Group>
            <Group gap="xs">
              {isSet && (
                <Button variant="default" c="var(--rp-bad)" onClick={deletion.open}>
                  Delete password
                </Button>
              )}
              <Button variant={isSet ? "default" : "filled"} onClick={setting.open}>
                {isSet ? "Change password" : "Set password"}
              </Button>
            </Group>
          </Group>
        </Paper>
      )}
      <SetPassword isChange={isSet} opened={isSetting} onClose={setting.close} />
      <DeletePassword opened={isDeleting} onClose={deletion.close} />
    </Section>
  );
}

/** The server revokes the other sessions. */
const useRefresh = () => {
  const client = useQueryClient();
  return () =>
    Promise.all(
      [settingsKeys.password, settingsKeys.sessions].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
};

function SetPassword({ isChange, opened, onClose }: { isChange: boolean; opened: boolean; onClose: () => void }) {
  const refresh = useRefresh();
  const notify = useNotify();
  const confirmation = useConfirmation();
  const form = useForm({
    initialValues: { new_password: "", repeated: "" },
    validate: {
      new_password: (value) => (value === "" ? "Enter a password" : null),
      repeated: (value, { new_password: password }) => (value === password ? null : "The passwords do not match"),
    },
  });
  const close = () => {
    form.reset();
    confirmation.reset();
    onClose();
  };
  return (
    <FormModal
      title={isChange ? "Change password" : "Set password"}
      opened={opened}
      onClose={close}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .put("/user/password", { body: { new_password: form.values.new_password, ...confirmation.body } })
          .then(refresh)
          .then(() => notify.success("Password saved"))
      }
    >
      <Text fz="sm" c="dimmed">
        This signs you out of all your other sessions.
      </Text>
      {confirmation.fields}
      <PasswordInput
        label="New password"
        autoComplete="new-password"
        data-autofocus
        {...form.getInputProps("new_password")}
      />
      <PasswordInput label="Repeat the new password" autoComplete="new-password" {...form.getInputProps("repeated")} />
    </FormModal>
  );
}

function DeletePassword({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const refresh = useRefresh();
  const notify = useNotify();
  const confirmation = useConfirmation();
  return (
    <ConfirmModal
      action="Delete password"
      opened={opened}
      onClose={() => {
        confirmation.reset();
        onClose();
      }}
      onConfirm={async () => {
        await api.delete("/user/password", { body: confirmation.body });
        await refresh();
        notify.success("Password deleted");
      }}
    >
      You will then sign in with a passkey, single sign-on or a sign-in link. This signs you out of all your other
      sessions.
      {confirmation.fields}
    </ConfirmModal>
  );
}
