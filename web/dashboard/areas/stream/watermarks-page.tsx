import { Button, FileInput, Group, NumberInput, Select, SimpleGrid, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { CopyButton } from "../../shared/copy.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { Bytes, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Page } from "../../shared/page.tsx";
import { useLiveEvents } from "../../shared/use-live-events.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { streamKeys, type Watermark } from "./queries.ts";

const POSITIONS = [
  { value: "upperRight", label: "Upper right" },
  { value: "upperLeft", label: "Upper left" },
  { value: "lowerRight", label: "Lower right" },
  { value: "lowerLeft", label: "Lower left" },
  { value: "center", label: "Center" },
];
const percent = (share: number) => `${Math.round(share * 100)}%`;

export default function WatermarksPage() {
  const { id: account } = useAccount();
  const [isCreating, creation] = useDisclosure(false);
  const queryKey = streamKeys.watermarks(account);
  useLiveEvents(["stream"], [queryKey]);
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: () => api.get("/accounts/{account_id}/stream/watermarks", { path: { account_id: account } }),
  });
  const columns: readonly Column<Watermark>[] = [
    { id: "name", header: "Name", render: ({ name, uid }) => name || uid },
    {
      id: "uid",
      header: "ID",
      wideOnly: true,
      render: ({ uid }) => (
        <Group gap={4} wrap="nowrap">
          <span className="rp-mono">{uid}</span>
          <CopyButton value={uid} label="Copy ID" />
        </Group>
      ),
    },
    {
      id: "position",
      header: "Position",
      render: ({ position }) => POSITIONS.find(({ value }) => value === position)?.label,
    },
    {
      id: "look",
      header: "Opacity, scale, padding",
      wideOnly: true,
      render: ({ opacity, scale, padding }) => [opacity, scale, padding].map(percent).join(", "),
    },
    {
      id: "size",
      header: "Image",
      render: ({ width, height, size }) => (
        <>
          {width} × {height}, <Bytes value={size} />
        </>
      ),
    },
    { id: "created", header: "Created", width: 140, render: ({ created }) => <RelativeTime value={created} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: ({ uid, name }) => (
        <ConfirmButton
          icon="trash"
          action="Delete watermark"
          label={`Delete ${name || uid}`}
          onConfirm={() =>
            api
              .delete("/accounts/{account_id}/stream/watermarks/{identifier}", {
                path: { account_id: account, identifier: uid },
              })
              .then(() => queryClient.invalidateQueries({ queryKey }))
          }
        >
          {name || uid} will be deleted. New videos can no longer use it. Videos that have it keep it.
        </ConfirmButton>
      ),
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creation.open}>
      Create watermark
    </Button>
  );
  return (
    <Page
      title="Watermarks"
      parents={[{ label: "Videos", to: "/stream" }]}
      description="Images that the server overlays on videos. Select one when you copy a video from a URL, or set it in an upload through the API."
      actions={create}
    >
      <DataTable
        label="Watermarks"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={({ uid }) => uid}
        empty={
          <EmptyState icon="image" title="No watermarks yet" actions={create}>
            A watermark is a PNG image with a position and a size.
          </EmptyState>
        }
      />
      <CreateWatermark account={account} opened={isCreating} onClose={creation.close} />
    </Page>
  );
}

function CreateWatermark({ account, opened, onClose }: { account: string; opened: boolean; onClose: () => void }) {
  const notify = useNotify();
  const form = useForm({
    initialValues: {
      name: "",
      file: null as File | null,
      position: "upperRight",
      opacity: 100,
      scale: 15,
      padding: 5,
    },
    validate: { file: (file) => (file === null ? "Select a PNG" : null) },
  });

  async function create() {
    const { name, file, position, ...shares } = form.values;
    const body = new FormData();
    body.set("file", file!, file!.name);
    body.set("name", name.trim());
    body.set("position", position);
    for (const [field, value] of Object.entries(shares)) body.set(field, String(value / 100));
    await api.post("/accounts/{account_id}/stream/watermarks", { path: { account_id: account }, body });
    notify.success("Watermark created");
    form.reset();
    await queryClient.invalidateQueries({ queryKey: streamKeys.watermarks(account) });
  }

  return (
    <FormModal
      title="Create watermark"
      opened={opened}
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && create()}
    >
      <TextInput label="Name" data-autofocus {...form.getInputProps("name")} />
      <FileInput label="Image" placeholder="Select a PNG" accept="image/png" {...form.getInputProps("file")} />
      <Select label="Position" data={POSITIONS} {...form.getInputProps("position")} />
      <SimpleGrid cols={3} spacing="sm">
        <NumberInput label="Opacity" suffix="%" min={0} max={100} {...form.getInputProps("opacity")} />
        <NumberInput label="Scale" suffix="%" min={0} max={100} {...form.getInputProps("scale")} />
        <NumberInput label="Padding" suffix="%" min={0} max={100} {...form.getInputProps("padding")} />
      </SimpleGrid>
    </FormModal>
  );
}
