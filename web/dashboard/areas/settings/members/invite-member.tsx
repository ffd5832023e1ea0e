import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { FormModal } from "../../../shared/form-modal.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys } from "../queries.ts";
import { RoleSelect } from "./role-select.tsx";

export function InviteMember({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const client = useQueryClient();
  const notify = useNotify();
  const form = useForm({
    initialValues: { email: "", role: "" },
    validate: {
      email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : "Enter an email address"),
      role: (role) => (role === "" ? "Select a role" : null),
    },
  });

  async function invite() {
    const { email } = await api.post("/accounts/{account_id}/members", {
      path: { account_id: account.id },
      body: { email: form.values.email.trim(), roles: [form.values.role], status: "pending" },
    });
    await client.invalidateQueries({ queryKey: settingsKeys.members(account.id) });
    notify.success(`${email} invited`);
    form.reset();
  }

  return (
    <FormModal
      title="Invite member"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && invite()}
    >
      <TextInput
        label="Email"
        type="email"
        description="The server sends an invitation link to this address."
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("email")}
      />
      <RoleSelect value={form.values.role} onChange={(role) => form.setFieldValue("role", role)} />
      {form.errors["role"] !== undefined && (
        <div role="alert" className="rp-settings-error">
          {form.errors["role"]}
        </div>
      )}
    </FormModal>
  );
}
