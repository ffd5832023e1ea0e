import { ActionIcon, Group, Progress, Text } from "@mantine/core";
import { useRef, useState } from "react";
import { apiUrl, authorization } from "../../../api/client.ts";
import { errorOfResponse } from "../../../api/errors.ts";
import { formatBytes } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";

interface Upload {
  id: number;
  name: string;
  size: number;
  sent: number;
  error: string | undefined;
}

interface Uploads {
  list: readonly Upload[];
  /** Uploads the files one after another, with `prefix` before their names. */
  add(files: readonly File[], prefix: string): void;
  /** Cancels an upload, or removes a failed one from the list. */
  dismiss(id: number): void;
}

/** Uploads of files to a bucket, one at a time, with their progress. */
export function useUploads({
  path,
  onUploaded,
}: {
  path: { account_id: string; bucket_name: string };
  onUploaded: () => void;
}): Uploads {
  const [list, setList] = useState<readonly Upload[]>([]);
  const nextId = useRef(0);
  const queue = useRef(Promise.resolve());
  const requests = useRef(new Map<number, XMLHttpRequest>());
  const dismissed = useRef(new Set<number>());
  const change = (id: number, more: Partial<Upload>) =>
    setList((before) => before.map((upload) => (upload.id === id ? { ...upload, ...more } : upload)));
  const remove = (id: number) => setList((before) => before.filter((upload) => upload.id !== id));

  async function run(id: number, file: File, key: string) {
    if (dismissed.current.has(id)) return;
    const url = apiUrl("/accounts/{account_id}/r2/buckets/{bucket_name}/objects/{object_key}", {
      ...path,
      object_key: key,
    });
    const failure = await send(url, file, {
      onProgress: (sent) => change(id, { sent }),
      onRequest: (request) => requests.current.set(id, request),
    });
    requests.current.delete(id);
    if (failure === undefined) {
      remove(id);
      onUploaded();
    } else if (!dismissed.current.has(id)) change(id, { error: failure });
  }

  return {
    list,
    add(files, prefix) {
      for (const file of files) {
        const id = nextId.current++;
        setList((before) => [...before, { id, name: file.name, size: file.size, sent: 0, error: undefined }]);
        queue.current = queue.current.then(() => run(id, file, `${prefix}${file.name}`));
      }
    },
    dismiss(id) {
      dismissed.current.add(id);
      requests.current.get(id)?.abort();
      remove(id);
    },
  };
}

/** Resolves with the text of the failure. fetch() does not report the progress of an upload. */
function send(
  url: string,
  file: File,
  { onProgress, onRequest }: { onProgress: (sent: number) => void; onRequest: (request: XMLHttpRequest) => void },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", url);
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => {
      if (request.status < 300) return resolve(undefined);
      resolve(errorOfResponse(request.status, parse(request.responseText)).message);
    });
    request.addEventListener("error", () => resolve("The connection was lost. Upload the file again."));
    request.addEventListener("abort", () => resolve("The upload was canceled."));
    onRequest(request);
    request.send(file);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function UploadList({ uploads }: { uploads: Uploads }) {
  if (uploads.list.length === 0) return null;
  return (
    <ul className="rp-storage-uploads" aria-label="Uploads">
      {uploads.list.map(({ id, name, size, sent, error }) => (
        <li key={id}>
          <Group justify="space-between" wrap="nowrap">
            <Text fz="sm" truncate>
              {name} <span className="rp-dimmed">{formatBytes(size)}</span>
            </Text>
            <ActionIcon
              aria-label={error === undefined ? `Cancel the upload of ${name}` : `Remove ${name} from the list`}
              onClick={() => uploads.dismiss(id)}
            >
              <Icon name="x" size={14} />
            </ActionIcon>
          </Group>
          {error === undefined ? (
            <Progress value={size === 0 ? 0 : (100 * sent) / size} size="sm" aria-label={`Progress of ${name}`} />
          ) : (
            <Text fz="sm" c="var(--rp-bad)" role="alert">
              {error}
            </Text>
          )}
        </li>
      ))}
    </ul>
  );
}
