import { Button, FileButton, Group, SegmentedControl, SimpleGrid, Text, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { formatBytes } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { addressesOf, mailboxesOf } from "./addresses.ts";
import { MESSAGES } from "./queries.ts";

type Mode = "fields" | "raw";

interface Values {
  from: string;
  to: string;
  cc: string;
  subject: string;
  text: string;
  html: string;
  raw: string;
}

const INITIAL: Values = {
  from: "sender@example.com",
  to: "",
  cc: "",
  subject: "",
  text: "",
  html: "",
  raw: "From: sender@example.com\nTo: \nSubject: Test\n\nHello\n",
};
/** The values sent last, so that a similar message needs few changes. */
let lastValues = INITIAL;

/** Composes a test message and passes it to the worker of its recipient. */
export function ComposeForm({ onClose }: { onClose: () => void }) {
  const account = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  const [mode, setMode] = useState<Mode>("fields");
  const [files, setFiles] = useState<File[]>([]);
  const form = useForm<Values>({
    initialValues: lastValues,
    validate: {
      from: (from) => (from.trim() === "" ? "Enter a sender" : null),
      to: (to) => (to.trim() === "" ? "Enter a recipient" : null),
    },
  });

  async function send() {
    const { from, to, cc, subject, text, html, raw } = form.values;
    const body =
      mode === "raw"
        ? { from: from.trim(), to: addressesOf(to), raw }
        : {
            from: mailboxesOf(from)[0]!,
            to: mailboxesOf(to),
            ...(cc.trim() !== "" && { cc: mailboxesOf(cc) }),
            subject,
            // A message needs text or HTML. Empty text counts.
            ...((text !== "" || html === "") && { text }),
            ...(html !== "" && { html }),
            ...(files.length > 0 && { attachments: await Promise.all(files.map(attachmentOf)) }),
          };
    const { id } = await api.post(MESSAGES, { path: { account_id: account.id }, body });
    lastValues = form.values;
    notify.success("Message passed to the worker");
    void navigate({ to: `/inbox/${id}` });
  }

  const plain = { autoComplete: "off", spellCheck: false } as const;
  return (
    <FormModal
      title="Compose message"
      submitLabel="Send message"
      size="lg"
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && send()}
    >
      <SegmentedControl
        aria-label="Edit mode"
        size="xs"
        value={mode}
        onChange={(value) => setMode(value as Mode)}
        data={[
          { value: "fields", label: "Fields" },
          { value: "raw", label: "Source" },
        ]}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
        <TextInput label={mode === "raw" ? "Envelope sender" : "From"} {...plain} {...form.getInputProps("from")} />
        <TextInput
          label={mode === "raw" ? "Envelope recipients" : "To"}
          placeholder="inbox@example.org"
          data-autofocus
          {...plain}
          {...form.getInputProps("to")}
        />
      </SimpleGrid>
      {mode === "raw" ? (
        <Textarea
          label="Source"
          className="rp-inbox-mono"
          autosize
          minRows={10}
          maxRows={22}
          {...plain}
          {...form.getInputProps("raw")}
        />
      ) : (
        <>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
            <TextInput label="Subject" {...form.getInputProps("subject")} />
            <TextInput label="Cc" {...plain} {...form.getInputProps("cc")} />
          </SimpleGrid>
          <Textarea label="Text" autosize minRows={4} maxRows={12} {...form.getInputProps("text")} />
          <Textarea
            label="HTML"
            className="rp-inbox-mono"
            autosize
            minRows={2}
            maxRows={12}
            {...plain}
            {...form.getInputProps("html")}
          />
          <Attachments files={files} onChange={setFiles} />
        </>
      )}
    </FormModal>
  );
}

function Attachments({ files, onChange }: { files: readonly File[]; onChange: (files: File[]) => void }) {
  return (
    <div>
      <FileButton multiple onChange={(added) => onChange([...files, ...added])}>
        {(props) => (
          <Button {...props} variant="default" size="xs" leftSection={<Icon name="upload" size={13} />}>
            Attach files
          </Button>
        )}
      </FileButton>
      {files.map((file, index) => (
        <Group key={index} gap="xs" mt={6}>
          <Text fz="sm">
            {file.name} <span className="rp-dimmed">{formatBytes(file.size)}</span>
          </Text>
          <Button
            variant="subtle"
            size="compact-xs"
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter((other) => other !== file))}
          >
            Remove
          </Button>
        </Group>
      ))}
    </div>
  );
}

async function attachmentOf(file: File): Promise<{ filename: string; type: string; content: string }> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(reader.error!));
    reader.readAsDataURL(file);
  });
  return {
    filename: file.name,
    type: file.type === "" ? "application/octet-stream" : file.type,
    content: url.slice(url.indexOf(",") + 1),
  };
}
