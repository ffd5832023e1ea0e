import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { ActionMenu, ConfirmModal } from "../../../shared/confirm-button.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { useAction } from "../../../shared/use-action.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys, type Member } from "../queries.ts";
import { RoleSelect } from "./role-select.tsx";

/** Changes to one member. The server refuses to remove or demote the last administrator. */
export function MemberActions({ member, isOwn }: { member: Member; isOwn: boolean }) {
  const account = useAccount();
  const client = useQueryClient();
  const notify = useNotify();
  const [dialog, setDialog] = useState<"role" | "remove">();
  const [role, setRole] = useState(member.roles[0]?.id ?? "");
  const path = { account_id: account.id, member_id: member.id };
  const key = settingsKeys.members(account.id);
  const close = () => setDialog(undefined);
  const resend = useAction(() => api.post("/accounts/{account_id}/members/{member_id}/resend", { path }), {
    done: `Invitation to ${member.email} resent`,
    failed: "Could not resend the invitation",
    invalidates: [key],
  });
  const isMember = member.status === "accepted";
  const removal = isMember ? (isOwn ? "Leave account" : "Remove member") : "Revoke invitation";

  return (
    <>
      <ActionMenu
        label={`Actions for ${member.email}`}
        items={[
          { label: "Change role", icon: "edit", onClick: () => setDialog("role") },
          ...(isMember ? [] : [{ label: "Resend invitation", icon: "send" as const, onClick: () => resend.mutate() }]),
          { label: removal, icon: "trash", danger: true, onClick: () => setDialog("remove") },
        ]}
      />
      <FormModal
        title="Change role"
        opened={dialog === "role"}
        onClose={close}
        onSubmit={() =>
          api
            .put("/accounts/{account_id}/members/{member_id}", { path, body: { roles: [role] } })
            .then(() => client.invalidateQueries({ queryKey: key }))
            .then(() => notify.success(`Role of ${member.email} saved`))
        }
      >
        <RoleSelect value={role} onChange={setRole} />
      </FormModal>
      <ConfirmModal
        action={removal}
        opened={dialog === "remove"}
        onClose={close}
        onConfirm={async () => {
          await api.delete("/accounts/{account_id}/members/{member_id}", { path });
          await client.invalidateQueries({ queryKey: key });
          notify.success(isMember ? `${member.email} removed` : `Invitation to ${member.email} revoked`);
        }}
      >
        {isMember
          ? `${member.email} will lose access to ${account.name} immediately.`
          : `The link that ${member.email} received will stop working.`}
      </ConfirmModal>
    </>
  );
}
