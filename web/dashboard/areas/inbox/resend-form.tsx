import { Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { addressesOf } from "./addresses.ts";
import { workersQuery, type Message } from "./queries.ts";

/** Passes a message to email() of a worker again. */
export function ResendForm({
  message,
  onClose,
  onSent,
}: {
  message: Message;
  onClose: () => void;
  onSent: (id: string) => void;
}) {
  const account = useAccount();
  const notify = useNotify();
  const { data: workers = [] } = useQuery(workersQuery(account.id));
  const form = useForm({
    initialValues: { worker: "", from: message.from, to: message.to.join(", ") },
    validate: { to: (to) => (addressesOf(to).length === 0 ? "Enter a recipient" : null) },
  });

  async function resend() {
    const { worker, from, to } = form.values;
    const { id } = await api.post("/accounts/{account_id}/email/inbox/messages/{message_id}/resend", {
      path: { account_id: account.id, message_id: message.id },
      body: { from: from.trim(), to: addressesOf(to), ...(worker !== "" && { worker }) },
    });
    notify.success("Message passed to the worker");
    onSent(id);
  }

  return (
    <FormModal
      title="Replay message"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && resend()}
    >
      <Select
        label="Worker"
        description="The email() handler of this worker receives the message."
        data={[{ value: "", label: "The recipient's worker" }, ...workers]}
        allowDeselect={false}
        data-autofocus
        {...form.getInputProps("worker")}
      />
      <TextInput label="Envelope sender" autoComplete="off" spellCheck={false} {...form.getInputProps("from")} />
      <TextInput label="Envelope recipients" autoComplete="off" spellCheck={false} {...form.getInputProps("to")} />
    </FormModal>
  );
}
