import { Select, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { FormModal } from "../../../shared/form-modal.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { hrefOf, streamKeys } from "../queries.ts";

/** Downloads a video from a URL to the server. */
export function CopyForm({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { id: account } = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  const { data: watermarks = [] } = useQuery({
    queryKey: streamKeys.watermarks(account),
    queryFn: () => api.get("/accounts/{account_id}/stream/watermarks", { path: { account_id: account } }),
    enabled: opened,
  });
  const form = useForm({
    initialValues: { url: "", name: "", watermark: "", requireSignedURLs: false },
    validate: { url: (url) => (/^https?:\/\/./.test(url.trim()) ? null : "Enter a URL that begins with https://") },
  });

  async function copy() {
    const { url, name, watermark, requireSignedURLs } = form.values;
    const video = await api.post("/accounts/{account_id}/stream/copy", {
      path: { account_id: account },
      body: {
        url: url.trim(),
        requireSignedURLs,
        ...(name.trim() !== "" && { meta: { name: name.trim() } }),
        ...(watermark !== "" && { watermark: { uid: watermark } }),
      },
    });
    form.reset();
    notify.success("Download started");
    void queryClient.invalidateQueries({ queryKey: streamKeys.videos(account) });
    void navigate({ to: hrefOf(video) });
  }

  return (
    <FormModal
      title="Copy from URL"
      submitLabel="Copy video"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && copy()}
    >
      <TextInput
        label="URL"
        description="The server must be able to download the file."
        placeholder="https://example.com/video.mp4"
        type="url"
        data-autofocus
        autoComplete="off"
        {...form.getInputProps("url")}
      />
      <TextInput label="Name" placeholder="File name" {...form.getInputProps("name")} />
      {watermarks.length > 0 && (
        <Select
          label="Watermark"
          data={[
            { value: "", label: "None" },
            ...watermarks.map(({ uid, name }) => ({ value: uid, label: name || uid })),
          ]}
          {...form.getInputProps("watermark")}
        />
      )}
      <Switch label="Require signed URLs" {...form.getInputProps("requireSignedURLs", { type: "checkbox" })} />
    </FormModal>
  );
}
