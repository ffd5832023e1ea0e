import { Button, Group, Modal, Stack, type ModalProps } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { toApiError } from "../api/errors.ts";
import { ErrorState } from "./error-state.tsx";

interface FormModalProps {
  /** "Create rule": the title and, by default, the button. */
  title: string;
  submitLabel?: string;
  opened: boolean;
  onClose: () => void;
  /**
   * Called on submit; closes the dialog when it resolves. Return false to keep it open, for example after failed
   * validation. Errors are shown with the text of the API.
   */
  onSubmit: () => Promise<unknown> | false;
  /** Receives per-field errors, for example `form.setErrors`. */
  onFieldErrors?: (fields: Record<string, string>) => void;
  size?: ModalProps["size"];
  children: ReactNode;
}

/** A form in a dialog: Enter submits, Escape closes, the error of the API is shown above the buttons. */
export function FormModal({
  title,
  submitLabel = title,
  opened,
  onClose,
  onSubmit,
  onFieldErrors,
  size = "md",
  children,
}: FormModalProps) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();

  function close() {
    setError(undefined);
    onClose();
  }

  async function submit() {
    const submission = onSubmit();
    if (submission === false) return;
    setRunning(true);
    setError(undefined);
    try {
      if ((await submission) !== false) close();
    } catch (err) {
      setError(err);
      onFieldErrors?.({ ...toApiError(err).fields });
    } finally {
      setRunning(false);
    }
  }

  return (
    <Modal opened={opened} onClose={close} title={title} size={size} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          if (!isRunning) void submit();
        }}
      >
        <Stack gap="sm">
          {children}
          {error !== undefined && <ErrorState error={error} />}
          <Group justify="end" gap="xs" mt="xs">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning}>
              {submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
