import { Checkbox, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { mailKeys } from "./queries.ts";

const isAddress = (text: string) =>
  /^\S+@\S+$/.test(text.trim()) ? null : "Enter an address, for example me@example.com";

/** Sends a test message from a sending domain. */
export function ComposeMessage({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const form = useForm({
    initialValues: { from: "", to: "", subject: "Test message", body: "This is a test message.", isHtml: false },
    validate: {
      from: isAddress,
      to: isAddress,
      subject: (text) => (text.trim() === "" ? "Enter a subject" : null),
      body: (text) => (text.trim() === "" ? "Enter the content" : null),
    },
  });

  async function send() {
    const { from, to, subject, body, isHtml } = form.values;
    const sent = await api.post("/accounts/{account_id}/email/sending/send", {
      path: { account_id: account.id },
      body: { from: from.trim(), to: to.trim(), subject, ...(isHtml ? { html: body } : { text: body }) },
    });
    await queryClient.invalidateQueries({ queryKey: mailKeys.log });
    if (sent.suppressed_recipients.length > 0) notify.error(new Error(`${to} is suppressed.`), "Message not sent");
    else if (sent.permanent_bounces.length > 0) notify.error(new Error(`${to} does not accept it.`), "Message bounced");
    else notify.success(`Message to ${to} ${sent.delivered.length > 0 ? "delivered" : "queued"}`);
  }

  return (
    <FormModal
      title="Send message"
      size="lg"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && send()}
    >
      <TextInput
        label="From"
        description="An address of a sending domain."
        type="email"
        autoComplete="off"
        data-autofocus
        {...form.getInputProps("from")}
      />
      <TextInput label="To" type="email" autoComplete="off" {...form.getInputProps("to")} />
      <TextInput label="Subject" {...form.getInputProps("subject")} />
      <Textarea label="Content" autosize minRows={6} maxRows={16} {...form.getInputProps("body")} />
      <Checkbox label="The content is HTML" {...form.getInputProps("isHtml", { type: "checkbox" })} />
    </FormModal>
  );
}
