import { NumberInput, Switch, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { inputPath, nameOf, type LiveInput } from "./queries.ts";

/** Creates a live input, or edits `input`. */
export function InputForm({
  input,
  onClose,
  onSaved,
}: {
  input?: LiveInput;
  onClose: () => void;
  onSaved: (input: LiveInput) => void;
}) {
  const { id: account } = useAccount();
  const form = useForm({
    initialValues: {
      name: input === undefined || nameOf(input) === input.uid ? "" : nameOf(input),
      record: input === undefined || input.recording.mode === "automatic",
      preferLowLatency: input?.preferLowLatency ?? true,
      requireSignedURLs: input?.recording.requireSignedURLs ?? false,
      hideLiveViewerCount: input?.recording.hideLiveViewerCount ?? false,
      allowedOrigins: input?.recording.allowedOrigins ?? [],
      deleteRecordingAfterDays: (input?.deleteRecordingAfterDays ?? "") as number | "",
    },
    validate: { name: (name) => (name.trim() === "" ? "Enter a name" : null) },
  });

  async function save() {
    const { name, record, preferLowLatency, deleteRecordingAfterDays: days, ...recording } = form.values;
    const body = {
      meta: { ...input?.meta, name: name.trim() },
      preferLowLatency,
      recording: { ...recording, mode: record ? ("automatic" as const) : ("off" as const) },
      deleteRecordingAfterDays: days === "" ? null : days,
    };
    const saved =
      input === undefined
        ? await api.post("/accounts/{account_id}/stream/live_inputs", { path: { account_id: account }, body })
        : await api.put("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}", {
            path: inputPath(account, input.uid),
            body,
          });
    void queryClient.invalidateQueries({ queryKey: ["live", account] });
    onSaved(saved as LiveInput);
  }

  return (
    <FormModal
      title={input === undefined ? "Create live input" : "Edit live input"}
      submitLabel={input === undefined ? "Create live input" : "Save live input"}
      opened
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps("name")} />
      <Switch label="Record broadcasts" {...form.getInputProps("record", { type: "checkbox" })} />
      <Switch
        label="Low latency"
        description="Low-latency HLS: viewers are about three seconds behind."
        {...form.getInputProps("preferLowLatency", { type: "checkbox" })}
      />
      <Switch label="Require signed URLs" {...form.getInputProps("requireSignedURLs", { type: "checkbox" })} />
      <Switch label="Hide the number of viewers" {...form.getInputProps("hideLiveViewerCount", { type: "checkbox" })} />
      <TagsInput
        label="Allowed origins"
        description="Hosts that may embed the broadcast. Leave this empty to allow all hosts."
        {...form.getInputProps("allowedOrigins")}
      />
      <NumberInput
        label="Delete recordings after"
        suffix=" days"
        min={30}
        description="Leave this empty to keep recordings."
        {...form.getInputProps("deleteRecordingAfterDays")}
      />
    </FormModal>
  );
}
