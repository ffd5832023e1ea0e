import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { ActionMenu, ConfirmModal } from "../../shared/confirm-button.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page } from "../../shared/page.tsx";
import { PageTabs } from "../../shared/page-tabs.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { InputForm } from "./input-form.tsx";
import { LiveState } from "./live-state.tsx";
import { inputPath, inputQuery, isPublishing, liveKeys, nameOf, statusQuery, type LiveInput } from "./queries.ts";

const PARENTS = [{ label: "Live", to: "/live" }];
const TABS = [
  ["overview", "Overview"],
  ["health", "Health"],
  ["outputs", "Outputs"],
  ["recordings", "Recordings and history"],
  ["broadcast", "Go live"],
] as const;

/** The frame of the pages of one live input. */
export function InputFrame({
  tab,
  children,
}: {
  tab: (typeof TABS)[number][0];
  children: (input: LiveInput, account: string) => ReactNode;
}) {
  const { inputId = "" }: { inputId?: string } = useParams({ strict: false });
  const { id: account } = useAccount();
  const { data: input, error, refetch } = useQuery(inputQuery(account, inputId));
  useLiveEvents(["live"], [liveKeys.input(account, inputId)]);
  if (input === undefined)
    return (
      <Page title="Live input" parents={PARENTS}>
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <Page
      title={nameOf(input)}
      badge={<LiveState uid={input.uid} enabled={input.enabled} />}
      parents={PARENTS}
      actions={<InputActions input={input} account={account} />}
    >
      <PageTabs base={`/live/${input.uid}`} tabs={TABS} current={tab}>
        {children(input, account)}
      </PageTabs>
    </Page>
  );
}

function InputActions({ input, account }: { input: LiveInput; account: string }) {
  const navigate = useNavigate();
  const [isEditing, editing] = useDisclosure(false);
  const [isDisconnecting, disconnecting] = useDisclosure(false);
  const [isRotating, rotating] = useDisclosure(false);
  const [isDeleting, deleting] = useDisclosure(false);
  const { data: status } = useQuery(statusQuery(account, input.uid));
  const path = inputPath(account, input.uid);
  const all = { invalidates: [["live", account]] };
  const rotate = useAction(
    () => api.post("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/rotate_keys", { path }),
    { ...all, done: "Keys rotated", silent: true },
  );
  const disconnect = useAction(
    () => api.post("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/disconnect", { path }),
    { ...all, done: "Encoder disconnected", silent: true },
  );
  const remove = useAction(
    () => api.delete("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}", { path }),
    { done: "Live input deleted", silent: true, onDone: () => void navigate({ to: "/live" }) },
  );
  const toggle = useAction(
    () =>
      api.post(
        input.enabled
          ? "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/disable"
          : "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/enable",
        { path },
      ),
    {
      ...all,
      done: input.enabled ? "Live input disabled" : "Live input enabled",
      failed: "Could not enable or disable the live input",
    },
  );
  return (
    <>
      <ActionMenu
        label="Actions for the live input"
        items={[
          { label: "Edit", icon: "edit", onClick: editing.open },
          { label: "Rotate keys", icon: "key", onClick: rotating.open },
          {
            label: input.enabled ? "Disable" : "Enable",
            icon: input.enabled ? "pause" : "play",
            onClick: () => toggle.mutate(),
          },
          { label: "Delete", icon: "trash", danger: true, onClick: deleting.open },
        ]}
      />
      {status !== undefined && isPublishing(status) && (
        <Button variant="default" c="var(--rp-bad)" onClick={disconnecting.open}>
          Disconnect encoder
        </Button>
      )}
      <Button
        leftSection={<Icon name="camera" size={14} />}
        renderRoot={(props) => <Link to={`/live/${input.uid}/broadcast`} {...props} />}
      >
        Go live
      </Button>
      {isEditing && <InputForm input={input} onClose={editing.close} onSaved={editing.close} />}
      <ConfirmModal
        action="Rotate keys"
        opened={isRotating}
        onClose={rotating.close}
        onConfirm={() => rotate.mutateAsync()}
      >
        The old keys will stop working immediately. Enter the new ones in your encoder.
      </ConfirmModal>
      <ConfirmModal
        action="Disconnect encoder"
        opened={isDisconnecting}
        onClose={disconnecting.close}
        onConfirm={() => disconnect.mutateAsync()}
      >
        The broadcast will end. The encoder may connect again: disable the live input or rotate its keys to prevent it.
      </ConfirmModal>
      <ConfirmModal
        action="Delete live input"
        opened={isDeleting}
        onClose={deleting.close}
        onConfirm={() => remove.mutateAsync()}
      >
        {nameOf(input)} will be deleted. Its keys and URLs will stop working. Recordings are kept.
      </ConfirmModal>
    </>
  );
}
