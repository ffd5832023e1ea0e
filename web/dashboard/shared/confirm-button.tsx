import { ActionIcon, Button, Group, Menu, Modal, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState, type ReactNode } from "react";
import { ErrorState } from "./error-state.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface ConfirmProps {
  /** The action as a verb with its object, for the button and the dialog: "Delete zone". */
  action: string;
  /** The effect of the action: "All records of example.com will be deleted." */
  children: ReactNode;
  /** Runs the action; the dialog stays open and shows the error if it rejects. */
  onConfirm: () => Promise<unknown>;
  /** The text that must be typed first, for irreversible actions that destroy a lot of data. */
  confirmText?: string;
  /** Default true: the action destroys something. */
  danger?: boolean;
}

/** The dialog alone, for actions in menus. The caller controls `opened` and `onClose`. */
export function ConfirmModal({
  action,
  children,
  onConfirm,
  confirmText,
  danger = true,
  opened,
  onClose,
}: ConfirmProps & { opened: boolean; onClose: () => void }) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const [text, setText] = useState("");

  async function confirm() {
    setRunning(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
      setText("");
    } catch (err) {
      setError(err);
    } finally {
      setRunning(false);
    }
  }

  return (
    <Modal opened={opened} onClose={onClose} title={action} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <Stack gap="md">
          <Text fz="sm" component="div">
            {children}
          </Text>
          {confirmText !== undefined && (
            <TextInput
              label={
                <>
                  Enter <b>{confirmText}</b> to confirm
                </>
              }
              value={text}
              autoComplete="off"
              spellCheck={false}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
            />
          )}
          {error !== undefined && <ErrorState error={error} />}
          <Group justify="end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              {...(danger && { color: "red" })}
              loading={isRunning}
              disabled={confirmText !== undefined && text !== confirmText}
              data-autofocus={confirmText === undefined ? true : undefined}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** A button that asks for confirmation. With `icon`, it renders as an icon button, as in table rows. */
export function ConfirmButton({
  icon,
  label,
  disabled = false,
  ...confirm
}: ConfirmProps & { icon?: IconName; label?: string; disabled?: boolean }) {
  const [opened, { open, close }] = useDisclosure(false);
  const { action, danger = true } = confirm;
  return (
    <>
      {icon === undefined ? (
        <Button variant="default" c={danger ? "var(--rp-bad)" : undefined} onClick={open} disabled={disabled}>
          {label ?? action}
        </Button>
      ) : (
        <Tooltip label={label ?? action}>
          <ActionIcon aria-label={label ?? action} onClick={open} disabled={disabled}>
            <Icon name={icon} size={15} />
          </ActionIcon>
        </Tooltip>
      )}
      <ConfirmModal {...confirm} opened={opened} onClose={close} />
    </>
  );
}

/** The actions of a row or page behind one button. */
export function ActionMenu({
  label = "Actions",
  items,
}: {
  label?: string;
  items: readonly { label: string; icon?: IconName; danger?: boolean; disabled?: boolean; onClick: () => void }[];
}) {
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={label}>
          <Icon name="more" size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(({ label: itemLabel, icon, danger = false, disabled = false, onClick }) => (
          <Menu.Item
            key={itemLabel}
            disabled={disabled}
            leftSection={icon && <Icon name={icon} size={14} />}
            {...(danger && { c: "var(--rp-bad)" })}
            onClick={onClick}
          >
            {itemLabel}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
