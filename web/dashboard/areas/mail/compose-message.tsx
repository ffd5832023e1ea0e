import { Checkbox, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { mailKeys } from "./queries.ts";

const validateAddress = (text: string) =>
  /^\S+@\S+$/.test(text.trim()) ? null : "Enter an address, for example me@example.com";

/** Sends a test message from a sending domain. */
export function ComposeMessage({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const form = useForm({
    initialValues: { from: "", to: "", subject: "Test message", body: "This is a test message.", isHtml: false },
    validate: {
      from: validateAddress,
      to: validateAddress,
      subject: (text) => (text.trim() === "" ? "Enter a subject" : null),
      body: (text) => (text.trim() === "" ? "Enter a message body" : null),
    },
  });

  async function send() {
    const { from, to, subject, body, isHtml } = form.values;
    const sent = await api.post("/accounts/{account_id}/email/sending/send", {
      path: { account_id: account.id },
      body: { from: from.trim(), to: to.trim(), subject, ...(isHtml ? { html: body } : { text: body }) },
    });
    await queryClient.invalidateQueries({ queryKey: mailKeys.log });
    if (sent.suppressed_recipients.length > 0)
      notify.error(new Error(`${to} is suppressed. Remove the suppression to send to it.`), "Message not sent");
    else if (sent.permanent_bounces.length > 0)
      notify.error(
        new Error(`The mail server of ${to} rejected the message. See the mail log for its response.`),
        "Message bounced",
      );
    else notify.success(`Message to ${to} ${sent.delivered.length > 0 ? "delivered" : "queued"}`);
  }

  return (
    <FormModal
      title="Send test message"
      size="lg"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && send()}
    >
      <TextInput
        label="From"
        description="An address at one of your sending domains."
        type="email"
        autoComplete="off"
        data-autofocus
        {...form.getInputProps("from")}
      />
      <TextInput label="To" type="email" autoComplete="off" {...form.getInputProps("to")} />
      <TextInput label="Subject" {...form.getInputProps("subject")} />
      <Textarea label="Body" autosize minRows={6} maxRows={16} {...form.getInputProps("body")} />
      <Checkbox label="Send as HTML" {...form.getInputProps("isHtml", { type: "checkbox" })} />
    </FormModal>
  );
}
