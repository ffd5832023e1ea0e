import { Button, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { InputFrame } from "./input-frame.tsx";
import { inputPath, liveKeys, type Output } from "./queries.ts";

const STATES: Record<NonNullable<Output["status"]>["state"], { tone: Tone; text: string }> = {
  connecting: { tone: "info", text: "Connecting" },
  connected: { tone: "good", text: "Connected" },
  error: { tone: "bad", text: "Failed" },
  ended: { tone: "neutral", text: "Ended" },
};

export default function OutputsPage() {
  return <InputFrame tab="outputs">{({ uid }, account) => <Outputs uid={uid} account={account} />}</InputFrame>;
}

function Outputs({ uid, account }: { uid: string; account: string }) {
  const [isAdding, adding] = useDisclosure(false);
  const queryKey = [...liveKeys.input(account, uid), "outputs"];
  const path = inputPath(account, uid);
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: () => api.get("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs", { path }),
  });
  const toggle = useAction(
    ({ uid: output, enabled }: Output) =>
      api.put("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs/{output_identifier}", {
        path: { ...path, output_identifier: output },
        body: { enabled: !enabled },
      }),
    { failed: "Could not enable or disable the output", invalidates: [queryKey] },
  );
  const columns: readonly Column<Output>[] = [
    { id: "url", header: "Server", render: ({ url }) => <span className="rp-mono">{url}</span> },
    {
      id: "state",
      header: "Status",
      width: 220,
      render: ({ enabled, status }) =>
        status === null ? (
          <StatusBadge>{enabled ? "Waiting for a broadcast" : "Disabled"}</StatusBadge>
        ) : (
          <>
            <StatusBadge tone={STATES[status.state].tone}>{STATES[status.state].text}</StatusBadge>{" "}
            <span className="rp-dimmed">
              {status.reason !== undefined && `${status.reason}, `}
              <RelativeTime value={status.at} />
            </span>
          </>
        ),
    },
    {
      id: "enabled",
      header: "Enabled",
      width: 90,
      render: (output) => (
        <Switch
          size="xs"
          aria-label={`Enable ${output.url}`}
          checked={output.enabled}
          disabled={toggle.isPending}
          onChange={() => toggle.mutate(output)}
        />
      ),
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (output) => (
        <ConfirmButton
          icon="trash"
          action="Delete output"
          label={`Delete ${output.url}`}
          onConfirm={() =>
            api
              .delete("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs/{output_identifier}", {
                path: { ...path, output_identifier: output.uid },
              })
              .then(() => queryClient.invalidateQueries({ queryKey }))
          }
        >
          The output will be deleted. Restreaming to {output.url} will stop.
        </ConfirmButton>
      ),
    },
  ];
  const add = (
    <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={adding.open}>
      Create output
    </Button>
  );
  return (
    <Section title="Outputs" description="The server restreams the broadcast to other platforms." actions={add}>
      <DataTable
        label="Outputs"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={(output) => output.uid}
        empty={<EmptyState icon="send" title="No outputs yet" />}
      />
      <AddOutput path={path} queryKey={queryKey} opened={isAdding} onClose={adding.close} />
    </Section>
  );
}

function AddOutput({
  path,
  queryKey,
  opened,
  onClose,
}: {
  path: ReturnType<typeof inputPath>;
  queryKey: readonly string[];
  opened: boolean;
  onClose: () => void;
}) {
  const notify = useNotify();
  const form = useForm({
    initialValues: { url: "", streamKey: "" },
    validate: {
      url: (url) => (/^(rtmps?|srt):\/\/./.test(url.trim()) ? null : "Enter a URL that begins with rtmps:// or srt://"),
      // The key of an SRT server is its passphrase, which is optional.
      streamKey: (key, { url }) => (key.trim() !== "" || url.startsWith("srt:") ? null : "Enter the stream key"),
    },
  });
  return (
    <FormModal
      title="Create output"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() =>
        !form.validate().hasErrors &&
        api
          .post("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs", {
            path,
            body: { url: form.values.url.trim(), streamKey: form.values.streamKey.trim() },
          })
          .then(() => {
            notify.success("Output created");
            form.reset();
            return queryClient.invalidateQueries({ queryKey });
          })
      }
    >
      <TextInput
        label="Server"
        placeholder="rtmps://live.example.com:443/app"
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("url")}
      />
      <TextInput label="Stream key" autoComplete="off" spellCheck={false} {...form.getInputProps("streamKey")} />
    </FormModal>
  );
}
