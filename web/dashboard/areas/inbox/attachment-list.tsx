import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api } from "../../api/client.ts";
import { formatBytes } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { useAction } from "../../shared/use-action.ts";
import { inboxKeys, MESSAGE, type Attachment, type MessagePath } from "./queries.ts";

/** Types that are safe and small enough to show as images. */
const IMAGE = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/;
const MAX_IMAGE_BYTES = 5_000_000;

export function AttachmentList({ path, attachments }: { path: MessagePath; attachments: readonly Attachment[] }) {
  return (
    <ul className="rp-inbox-items" aria-label="Attachments">
      {attachments.map((attachment) => (
        <li key={attachment.index}>
          <AttachmentItem path={path} attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function AttachmentItem({ path, attachment }: { path: MessagePath; attachment: Attachment }) {
  const { index, filename, content_type: type, content_id: contentId, inline, size } = attachment;
  const name = filename ?? `attachment-${index + 1}`;
  const load = async () =>
    (await api.raw("GET", `${MESSAGE}/attachments/{index}`, { path: { ...path, index } })).blob();
  const download = useAction(async () => saveFile(await load(), name), { failed: `Could not download ${name}` });
  const isImage = IMAGE.test(type) && size <= MAX_IMAGE_BYTES;
  const { data: image } = useQuery({
    queryKey: [...inboxKeys.message(path.account_id, path.message_id), "attachment", index],
    queryFn: load,
    enabled: isImage,
    staleTime: Infinity,
  });
  return (
    <>
      <Group justify="space-between" gap="sm" wrap="nowrap">
        <div>
          <Text fz="sm" fw={500}>
            {name}
          </Text>
          <Text fz="xs" c="dimmed">
            {type}, {formatBytes(size)}
            {inline && ", inline"}
            {contentId !== null && `, Content-ID ${contentId}`}
          </Text>
        </div>
        <Button
          variant="default"
          size="xs"
          flex="none"
          aria-label={`Download ${name}`}
          leftSection={<Icon name="download" size={13} />}
          loading={download.isPending}
          onClick={() => download.mutate()}
        >
          Download
        </Button>
      </Group>
      {image !== undefined && <Thumbnail image={image} name={name} />}
    </>
  );
}

function Thumbnail({ image, name }: { image: Blob; name: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const created = URL.createObjectURL(image);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [image]);
  return url === undefined ? null : <img className="rp-inbox-thumbnail" src={url} alt={name} />;
}
