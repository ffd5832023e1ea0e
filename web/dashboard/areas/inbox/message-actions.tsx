import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { Icon } from "../../shared/icon.tsx";
import { useAction } from "../../shared/use-action.ts";
import { deleteMessages } from "./delete-messages.ts";
import type { Message } from "./queries.ts";
import { ReleaseForm } from "./release-form.tsx";
import { ResendForm } from "./resend-form.tsx";
import { useKeys } from "./use-keys.ts";

/** The buttons of a message. `onNewer` and `onOlder` open its neighbours in the list; undefined at its ends. */
export function MessageActions({
  message,
  onNewer,
  onOlder,
  onDeleted,
}: {
  message: Message;
  onNewer: (() => void) | undefined;
  onOlder: (() => void) | undefined;
  onDeleted: () => void;
}) {
  const account = useAccount();
  const navigate = useNavigate();
  const [form, setForm] = useState<"resend" | "release">();
  const remove = useAction(() => deleteMessages(account.id, [message.id]), {
    done: "Message deleted",
    failed: "Could not delete the message",
  });
  // Leaves the page first: it would show that its message is missing.
  const removeAndLeave = () => {
    onDeleted();
    remove.mutate();
  };
  useKeys({ Delete: removeAndLeave, Backspace: removeAndLeave });

  return (
    <>
      <Tooltip label="Newer message (k)">
        <ActionIcon variant="default" aria-label="Newer message" disabled={onNewer === undefined} onClick={onNewer}>
          <Icon name="arrow-up" size={14} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Older message (j)">
        <ActionIcon variant="default" aria-label="Older message" disabled={onOlder === undefined} onClick={onOlder}>
          <Icon name="arrow-down" size={14} />
        </ActionIcon>
      </Tooltip>
      <Button variant="default" c="var(--rp-bad)" onClick={removeAndLeave}>
        Delete
      </Button>
      <Button variant="default" onClick={() => setForm("release")}>
        Release
      </Button>
      <Button onClick={() => setForm("resend")}>Replay</Button>
      {form === "resend" && (
        <ResendForm
          message={message}
          onClose={() => setForm(undefined)}
          onSent={(id) => void navigate({ to: `/inbox/${id}` })}
        />
      )}
      {form === "release" && <ReleaseForm message={message} onClose={() => setForm(undefined)} />}
    </>
  );
}
