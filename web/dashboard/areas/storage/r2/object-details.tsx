import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api } from "../../../api/client.ts";
import { CodeView } from "../../../shared/code-view.tsx";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { CopyField } from "../../../shared/copy.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { Bytes, formatBytes, formatTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { KeyValue } from "../../../shared/key-value.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { useAction } from "../../../shared/use-action.ts";
import type { R2Object } from "../queries.ts";

/** Larger objects are not loaded for a preview. */
const MAX_PREVIEW_BYTES = 5_000_000;
const TEXT_TYPE = /^(text\/|application\/(json|xml|javascript|x-yaml|toml|sql))/;
/** Images that cannot contain scripts. */
const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|avif)$/;

interface BucketPath {
  account_id: string;
  bucket_name: string;
}

export function ObjectDetails({
  path,
  object,
  onClose,
  onDelete,
}: {
  path: BucketPath;
  object: R2Object;
  onClose: () => void;
  onDelete: () => Promise<void>;
}) {
  const read = async () =>
    (
      await api.raw("GET", "/accounts/{account_id}/r2/buckets/{bucket_name}/objects/{object_key}", {
        path: { ...path, object_key: object.key },
      })
    ).blob();
  const download = useAction(async () => saveFile(await read(), object.key.split("/").at(-1) ?? "object"), {
    failed: "Could not download the object",
  });
  const type = object.http_metadata["contentType"];

  return (
    <Modal opened onClose={onClose} title="Object" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="md">
        <CopyField label="Key" value={object.key} wrap />
        <KeyValue
          items={[
            ["Size", <Bytes key="size" value={object.size} />],
            ["Type", type],
            ["Modified", formatTime(object.last_modified)],
            ["ETag", <code key="etag">{object.etag}</code>],
            ["Storage class", object.storage_class],
            ...Object.entries(object.custom_metadata).map(([name, value]) => [`Metadata ${name}`, value] as const),
          ]}
        />
        <Preview object={object} read={read} queryKey={["storage", "r2", "preview", path.bucket_name, object.etag]} />
        <Group justify="space-between">
          <ConfirmButton action="Delete object" onConfirm={() => onDelete().then(onClose)}>
            {object.key} will be deleted.
          </ConfirmButton>
          <Button
            leftSection={<Icon name="download" size={14} />}
            loading={download.isPending}
            onClick={() => download.mutate()}
          >
            Download
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Preview({
  object,
  read,
  queryKey,
}: {
  object: R2Object;
  read: () => Promise<Blob>;
  queryKey: readonly unknown[];
}) {
  const type = object.http_metadata["contentType"] ?? "";
  const kind = TEXT_TYPE.test(type) ? "text" : IMAGE_TYPE.test(type) ? "image" : undefined;
  const isShown = kind !== undefined && object.size <= MAX_PREVIEW_BYTES;
  const { data: blob, error } = useQuery({ queryKey: [...queryKey], queryFn: read, enabled: isShown, gcTime: 0 });
  const { data: text } = useQuery({
    queryKey: [...queryKey, "text"],
    queryFn: () => blob!.text(),
    enabled: blob !== undefined && kind === "text",
    gcTime: 0,
  });
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined || kind !== "image") return undefined;
    const created = URL.createObjectURL(new Blob([blob], { type }));
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [blob, kind, type]);

  if (!isShown)
    return (
      <Text fz="sm" c="dimmed">
        {kind === undefined
          ? "This type has no preview."
          : `Objects larger than ${formatBytes(MAX_PREVIEW_BYTES)} have no preview.`}
      </Text>
    );
  if (error !== null) return <ErrorState error={error} />;
  if (kind === "text" && text !== undefined) return <CodeView label="Object" text={text} />;
  if (kind === "image" && url !== undefined)
    return <img src={url} alt={`Preview of ${object.key}`} className="rp-storage-image" />;
  return <LoadingState />;
}
