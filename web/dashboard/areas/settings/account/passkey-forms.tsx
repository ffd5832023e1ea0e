import { Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { startRegistration } from "@simplewebauthn/browser";
import { useQueryClient } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { FormModal } from "../../../shared/form-modal.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys, type Passkey } from "../queries.ts";
import { useConfirmation } from "./use-confirmation.tsx";

const requireName = (name: string) => (name.trim() === "" ? "Enter a name" : null);

type RegistrationOptions = Parameters<typeof startRegistration>[0]["optionsJSON"];

export function AddPasskey({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const notify = useNotify();
  const confirmation = useConfirmation();
  const form = useForm({ initialValues: { name: "" }, validate: { name: requireName } });

  async function register() {
    const { options, ticket } = await api.post("/user/passkeys/registration_options", { body: confirmation.body });
    const response = await startRegistration({ optionsJSON: options as unknown as RegistrationOptions }).catch(
      (err: unknown) => {
        // WebAuthn reports the same error for a canceled dialog and a missing authenticator.
        if (err instanceof Error && err.name === "NotAllowedError")
          throw new Error(
            "The browser did not create a passkey because the dialog was canceled or timed out. Try again.",
          );
        throw err;
      },
    );
    const { name } = await api.post("/user/passkeys", {
      // The API type needs an index signature, which this object lacks.
      body: { ticket, name: form.values.name.trim(), response: { ...response } as never },
    });
    await client.invalidateQueries({ queryKey: settingsKeys.passkeys });
    notify.success(`Passkey ${name} added`);
  }

  function close() {
    form.reset();
    confirmation.reset();
    onClose();
  }

  return (
    <FormModal
      title="Add passkey"
      opened={opened}
      onClose={close}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && register()}
    >
      <TextInput
        label="Name"
        description="For example, the device that stores the passkey."
        maxLength={60}
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("name")}
      />
      {confirmation.fields}
      <Text fz="sm" c="dimmed">
        The browser then asks where to store it.
      </Text>
    </FormModal>
  );
}

export function RenamePasskey({ passkey: { id, name }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const client = useQueryClient();
  const form = useForm({ initialValues: { name }, validate: { name: requireName } });
  return (
    <FormModal
      title="Rename passkey"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .patch("/user/passkeys/{passkey_id}", { path: { passkey_id: id }, body: { name: form.values.name.trim() } })
          .then(() => client.invalidateQueries({ queryKey: settingsKeys.passkeys }))
      }
    >
      <TextInput label="Name" maxLength={60} data-autofocus autoComplete="off" {...form.getInputProps("name")} />
    </FormModal>
  );
}
