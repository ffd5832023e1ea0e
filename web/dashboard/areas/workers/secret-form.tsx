import { PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { workersKeys } from "./queries.ts";
import type { ScriptPath } from "./queries.ts";

/** Creates a secret, or replaces the value of the one with this name. */
export function SecretForm({ path, onClose }: { path: ScriptPath; onClose: () => void }) {
  const notify = useNotify();
  const form = useForm({
    initialValues: { name: "", text: "" },
    validate: {
      name: (name) => (/^[A-Za-z_$][\w$]*$/.test(name.trim()) ? null : "Enter a name of letters, digits and _"),
      text: (text) => (text === "" ? "Enter a value" : null),
    },
  });

  async function save() {
    const name = form.values.name.trim();
    await api.put("/accounts/{account_id}/workers/scripts/{script_name}/secrets", {
      path,
      body: { name, text: form.values.text, type: "secret_text" },
    });
    notify.success(`Secret ${name} saved`);
    await queryClient.invalidateQueries({ queryKey: workersKeys.worker(path) });
  }

  return (
    <FormModal
      title="Create secret"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <TextInput
        label="Name"
        description="An existing secret with this name will be replaced."
        placeholder="API_KEY"
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps("name")}
      />
      <PasswordInput
        label="Value"
        description="It is not shown again."
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": "Show the value" }}
        {...form.getInputProps("text")}
      />
    </FormModal>
  );
}
