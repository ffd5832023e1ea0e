import { Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { CopyField } from "../../../shared/copy.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { QrCode } from "./qr-code.tsx";
import { useConfirmation } from "./use-confirmation.tsx";

/** Two steps: the secret for the app, then a first code that proves that the app has it. */
export function EnableTwoFactor({
  opened,
  onClose,
  onEnabled,
}: {
  opened: boolean;
  onClose: () => void;
  onEnabled: (recoveryCodes: string[]) => Promise<void>;
}) {
  const notify = useNotify();
  const confirmation = useConfirmation();
  const [enrollment, setEnrollment] = useState<{ secret: string; uri: string }>();
  const [code, setCode] = useState("");

  function close() {
    setEnrollment(undefined);
    setCode("");
    confirmation.reset();
    onClose();
  }

  async function submit() {
    if (enrollment === undefined) {
      setEnrollment(await api.post("/user/two_factor", { body: confirmation.body }));
      return false;
    }
    const { recovery_codes: codes } = await api.post("/user/two_factor/confirm", { body: { code: code.trim() } });
    await onEnabled(codes);
    notify.success("Two-factor authentication enabled");
    return true;
  }

  return (
    <FormModal
      title="Enable two-factor authentication"
      submitLabel={enrollment === undefined ? "Continue" : "Enable"}
      opened={opened}
      onClose={close}
      onSubmit={submit}
    >
      {enrollment === undefined ? (
        <>
          <Text fz="sm">
            You need an authenticator app on your phone or computer. Enabling two-factor authentication signs you out of
            all your other sessions.
          </Text>
          {confirmation.fields}
        </>
      ) : (
        <Stack gap="sm">
          <Text fz="sm">Scan this code with the app, or enter the secret in it.</Text>
          <QrCode text={enrollment.uri} label="QR code for the authenticator app" />
          <CopyField label="Secret" value={enrollment.secret} wrap />
          <TextInput
            label="Code from the app"
            value={code}
            autoComplete="one-time-code"
            inputMode="numeric"
            spellCheck={false}
            data-autofocus
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
          />
        </Stack>
      )}
    </FormModal>
  );
}
