import { Button, Group, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { twoFactorQuery } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { ConfirmModal } from "../../../shared/confirm-button.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { Section } from "../../../shared/page.tsx";
import { StatusBadge } from "../../../shared/status-badge.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys } from "../queries.ts";
import { EnableTwoFactor } from "./enable-two-factor.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";
import { useConfirmation } from "./use-confirmation.tsx";

export function TwoFactor() {
  const { data, error } = useQuery(twoFactorQuery);
  const client = useQueryClient();
  const [isEnabling, enabling] = useDisclosure(false);
  const [isDisabling, disabling] = useDisclosure(false);
  const [isReplacing, replacing] = useDisclosure(false);
  const [codes, setCodes] = useState<string[]>();
  const isEnabled = data?.enabled === true;

  async function refresh() {
    await Promise.all(
      [settingsKeys.twoFactor, settingsKeys.sessions].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
  }

  return (
    <Section
      title="Two-factor authentication"
      description="Require a code from an authenticator app in addition to your password."
    >
      {error !== null ? (
        <ErrorState error={error} />
      ) : (
        <Paper>
          <Group justify="space-between" gap="sm">
            <Group gap="sm">
              <StatusBadge tone={isEnabled ? "good" : "neutral"}>{isEnabled ? "Enabled" : "Disabled"}</StatusBadge>
              {isEnabled && (
                <Text fz="sm" c="dimmed">
                  {data.recovery_codes === 1 ? "1 recovery code is" : `${data.recovery_codes} recovery codes are`} left
                </Text>
              )}
            </Group>
            {isEnabled ? (
              <Group gap="xs">
                <Button variant="default" onClick={replacing.open}>
                  Replace recovery codes
                </Button>
                <Button variant="default" c="var(--rp-bad)" onClick={disabling.open}>
                  Disable
                </Button>
              </Group>
            ) : (
              <Button variant="default" onClick={enabling.open}>
                Enable two-factor authentication
              </Button>
            )}
          </Group>
        </Paper>
      )}
      <EnableTwoFactor
        opened={isEnabling}
        onClose={enabling.close}
        onEnabled={async (created) => {
          await refresh();
          setCodes(created);
        }}
      />
      <ReplaceCodes opened={isReplacing} onClose={replacing.close} onReplaced={setCodes} />
      <Disable opened={isDisabling} onClose={disabling.close} onDisabled={refresh} />
      <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />
    </Section>
  );
}

function ReplaceCodes({
  opened,
  onClose,
  onReplaced,
}: {
  opened: boolean;
  onClose: () => void;
  onReplaced: (codes: string[]) => void;
}) {
  const client = useQueryClient();
  const confirmation = useConfirmation();
  return (
    <ConfirmModal
      action="Replace recovery codes"
      danger={false}
      opened={opened}
      onClose={onClose}
      onConfirm={async () => {
        const { recovery_codes: codes } = await api.post("/user/two_factor/recovery_codes", {
          body: confirmation.body,
        });
        await client.invalidateQueries({ queryKey: settingsKeys.twoFactor });
        onReplaced(codes);
      }}
    >
      The previous codes will stop working.
      {confirmation.fields}
    </ConfirmModal>
  );
}

function Disable({
  opened,
  onClose,
  onDisabled,
}: {
  opened: boolean;
  onClose: () => void;
  onDisabled: () => Promise<void>;
}) {
  const notify = useNotify();
  const confirmation = useConfirmation();
  return (
    <ConfirmModal
      action="Disable two-factor authentication"
      opened={opened}
      onClose={onClose}
      onConfirm={async () => {
        await api.delete("/user/two_factor", { body: confirmation.body });
        await onDisabled();
        notify.success("Two-factor authentication disabled");
      }}
    >
      You will need only your password to sign in.
      {confirmation.fields}
    </ConfirmModal>
  );
}
