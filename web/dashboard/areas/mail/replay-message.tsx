import { Button, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { Icon } from "../../shared/icon.tsx";
import { countOf } from "../../shared/text.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { emailWorkersQuery, mailKeys, type Message } from "./queries.ts";

/** Passes the stored message to a worker again. */
export function ReplayMessage({ message: { id, to, worker } }: { message: Message }) {
  const account = useAccount();
  const notify = useNotify();
  const [opened, { open, close }] = useDisclosure(false);
  const { data: workers = [] } = useQuery({ ...emailWorkersQuery(account.id), enabled: opened });
  const form = useForm({
    initialValues: { worker: worker ?? "", to },
    validate: { worker: (name) => (name === "" ? "Select a worker" : null) },
  });

  async function replay() {
    const { outcome, exception, rejected, forwards, replies } = await api.post(
      "/accounts/{account_id}/email/activity/{entry_id}/replay",
      { path: { account_id: account.id, entry_id: id }, body: { worker: form.values.worker, to: form.values.to } },
    );
    await queryClient.invalidateQueries({ queryKey: mailKeys.log });
    if (exception !== null) return notify.error(new Error(exception), `The worker failed (${outcome})`);
    if (rejected !== null) return notify.success(`The worker rejected the message: ${rejected}`);
    notify.success(
      `Message replayed: ${countOf(forwards.length, "forward")}, ${countOf(replies.length, "reply", "replies")}`,
    );
  }

  return (
    <>
      <Button leftSection={<Icon name="refresh" size={14} />} onClick={open}>
        Replay message
      </Button>
      <FormModal
        title="Replay message"
        opened={opened}
        onClose={close}
        onFieldErrors={form.setErrors}
        onSubmit={() => !form.validate().hasErrors && replay()}
      >
        <Select
          label="Worker"
          description="The server delivers what the worker forwards or sends as a reply."
          placeholder="Select a worker"
          data={[...new Set([...(worker === null ? [] : [worker]), ...workers])]}
          searchable
          {...form.getInputProps("worker")}
        />
        <TextInput label="Recipient" description="The address that the worker sees." {...form.getInputProps("to")} />
      </FormModal>
    </>
  );
}
