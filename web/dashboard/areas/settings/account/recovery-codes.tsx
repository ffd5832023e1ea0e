import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { CodeView } from "../../../shared/code-view.tsx";
import { saveFile } from "../../../shared/save-file.ts";

/** Codes that the server shows once. */
export function RecoveryCodes({ codes, onClose }: { codes: string[] | undefined; onClose: () => void }) {
  const text = (codes ?? []).join("\n");
  return (
    <Modal
      opened={codes !== undefined}
      onClose={onClose}
      title="Recovery codes"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="sm">
        <Text fz="sm">
          Keep these codes in a safe place. Each code works once in place of a code from the app. They are not shown
          again.
        </Text>
        <CodeView label="Recovery codes" text={text} />
        <Group justify="end" gap="xs">
          <Button variant="default" onClick={() => saveFile(`${text}\n`, "reelpost-recovery-codes.txt")}>
            Download
          </Button>
          <Button onClick={onClose}>I have saved the codes</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
