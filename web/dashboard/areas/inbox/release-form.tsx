import { Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api, type ResultOf } from "../../api/client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { addressesOf } from "./addresses.ts";
import type { Message } from "./queries.ts";

type Result = ResultOf<"POST", "/accounts/{account_id}/email/inbox/messages/{message_id}/release">[number];

/** The server entered last. Only in memory, because its URL may contain a password. */
let lastServer = "";

/** Sends a message to an SMTP server. */
export function ReleaseForm({ message, onClose }: { message: Message; onClose: () => void }) {
  const account = useAccount();
  const notify = useNotify();
  const [failures, setFailures] = useState<Result[]>([]);
  const form = useForm({
    initialValues: { server: lastServer, from: message.from, to: message.to.join(", ") },
    validate: { to: (to) => (addressesOf(to).length === 0 ? "Enter a recipient" : null) },
  });

  async function release() {
    const { server, from, to } = form.values;
    setFailures([]);
    const results = await api.post("/accounts/{account_id}/email/inbox/messages/{message_id}/release", {
      path: { account_id: account.id, message_id: message.id },
      body: { from: from.trim(), to: addressesOf(to), ...(server.trim() !== "" && { server: server.trim() }) },
    });
    lastServer = server.trim();
    const failed = results.filter(({ outcome }) => outcome !== "delivered");
    if (failed.length === 0)
      return notify.success(results.length === 1 ? `Delivered to ${results[0]!.to}` : "Delivered to all recipients");
    setFailures(failed);
    // Retry only the recipients that failed.
    form.setFieldValue("to", failed.map((result) => result.to).join(", "));
    return false;
  }

  return (
    <FormModal
      title="Release message"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && release()}
    >
      <Text fz="sm" c="dimmed">
        Sends the message unchanged to an SMTP server, which delivers it to the recipients.
      </Text>
      <TextInput
        label="SMTP server"
        description="Default: the setting inbox.release_server."
        placeholder="smtp://user:password@smtp.example.com:587"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        {...form.getInputProps("server")}
      />
      <TextInput label="Envelope sender" autoComplete="off" spellCheck={false} {...form.getInputProps("from")} />
      <TextInput label="Envelope recipients" autoComplete="off" spellCheck={false} {...form.getInputProps("to")} />
      {failures.length > 0 && (
        <Stack gap={6} role="alert">
          {failures.map(({ to, outcome, reply }) => (
            <Text key={to} fz="sm" component="div">
              <StatusBadge tone={outcome === "temporary" ? "warning" : "bad"}>
                {outcome === "temporary" ? "Deferred" : "Failed"}
              </StatusBadge>{" "}
              {to}: {reply}
            </Text>
          ))}
        </Stack>
      )}
    </FormModal>
  );
}
