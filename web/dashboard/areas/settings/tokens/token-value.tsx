import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CopyField } from "../../../shared/copy.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { StatusBadge } from "../../../shared/status-badge.tsx";
import { capitalized } from "../../../shared/text.ts";
import { testToken, type TokenOwner } from "./token-api.ts";

interface TokenValueProps {
  owner: TokenOwner;
  token: { name: string; value: string };
  onClose: () => void;
}

/** The value of a new or rotated token, which the server does not show again. */
export function TokenValue({ owner, token: { name, value }, onClose }: TokenValueProps) {
  const [isTesting, setTesting] = useState(false);
  const [status, setStatus] = useState<string>();
  const [error, setError] = useState<unknown>();

  async function test() {
    setTesting(true);
    setStatus(undefined);
    setError(undefined);
    try {
      setStatus(await testToken(owner, value));
    } catch (err) {
      setError(err);
    } finally {
      setTesting(false);
    }
  }

  return (
    <Modal
      opened
      onClose={onClose}
      title={`Token ${name}`}
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="sm">
        <Text fz="sm">Copy the value now. It is not shown again.</Text>
        <CopyField label="Value" value={value} wrap />
        {status !== undefined && (
          <Group gap="xs" role="status">
            <StatusBadge tone={status === "active" ? "good" : "warning"}>{capitalized(status)}</StatusBadge>
            {status === "active" && <Text fz="sm">The server accepted the token.</Text>}
          </Group>
        )}
        {error !== undefined && <ErrorState error={error} title="The token was not accepted" />}
        <Group justify="end" gap="xs">
          <Button variant="default" loading={isTesting} onClick={() => void test()}>
            Test token
          </Button>
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
