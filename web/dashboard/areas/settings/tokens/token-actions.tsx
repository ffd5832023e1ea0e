import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ActionMenu, ConfirmModal } from "../../../shared/confirm-button.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys, type Token } from "../queries.ts";
import { deleteToken, rollToken, type TokenOwner } from "./token-api.ts";

interface TokenActionsProps {
  owner: TokenOwner;
  token: Token;
  onRolled: (token: { name: string; value: string }) => void;
}

export function TokenActions({ owner, token: { id, name }, onRolled }: TokenActionsProps) {
  const client = useQueryClient();
  const notify = useNotify();
  const [dialog, setDialog] = useState<"roll" | "delete">();
  const close = () => setDialog(undefined);
  const refresh = () => client.invalidateQueries({ queryKey: settingsKeys.tokens });
  return (
    <>
      <ActionMenu
        label={`Actions for ${name}`}
        items={[
          { label: "Rotate", icon: "refresh", onClick: () => setDialog("roll") },
          { label: "Delete", icon: "trash", danger: true, onClick: () => setDialog("delete") },
        ]}
      />
      <ConfirmModal
        action="Rotate token"
        opened={dialog === "roll"}
        onClose={close}
        onConfirm={async () => {
          const value = await rollToken(owner, id);
          await refresh();
          onRolled({ name, value });
        }}
      >
        {name} will get a new value. Programs that use the previous one will lose access immediately.
      </ConfirmModal>
      <ConfirmModal
        action="Delete token"
        opened={dialog === "delete"}
        onClose={close}
        onConfirm={async () => {
          await deleteToken(owner, id);
          await refresh();
          notify.success(`Token ${name} deleted`);
        }}
      >
        {name} will be deleted. Programs that use it will lose access immediately.
      </ConfirmModal>
    </>
  );
}
