import { ActionIcon, Anchor, Button, FileButton, Group, Progress, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../../api/account.ts";
import { formatBytes, formatDuration } from "../../../shared/format.tsx";
import { Icon, type IconName } from "../../../shared/icon.tsx";
import {
  addUploads,
  discardUpload,
  dismissUpload,
  pauseUpload,
  resumeUpload,
  unfinishedUploads,
  useUploads,
  type VideoUpload,
} from "./uploads.ts";

/** The running uploads, and those of an earlier visit that can be continued. */
export function UploadList() {
  const { id: account } = useAccount();
  const uploads = useUploads(account);
  const active = uploads.filter(({ state }) => state !== "done").length;
  const { data: stored = [], refetch } = useQuery({
    queryKey: ["stream", account, "unfinished", uploads.length, active],
    queryFn: () => unfinishedUploads(account),
    staleTime: 0,
  });
  const unfinished = stored.filter(
    ({ name, size }) => !uploads.some((upload) => upload.name === name && upload.size === size),
  );
  if (uploads.length === 0 && unfinished.length === 0) return null;
  return (
    <ul className="rp-stream-uploads" aria-label="Uploads">
      {uploads.map((upload) => (
        <UploadItem key={upload.id} upload={upload} />
      ))}
      {unfinished.map((upload) => (
        <li key={upload.key}>
          <Group justify="space-between" gap="xs">
            <Text fz="sm">
              {upload.name} <span className="rp-dimmed">{formatBytes(upload.size)}, upload was interrupted</span>
            </Text>
            <Group gap={4}>
              <FileButton onChange={(file) => file !== null && addUploads(account, [file])}>
                {(props) => (
                  <Button {...props} variant="default" aria-label={`Select ${upload.name} again to resume`}>
                    Select the file to resume
                  </Button>
                )}
              </FileButton>
              <Control
                icon="x"
                label={`Cancel the upload of ${upload.name}`}
                onClick={() => discardUpload(upload).then(() => refetch())}
              />
            </Group>
          </Group>
        </li>
      ))}
    </ul>
  );
}

function UploadItem({ upload }: { upload: VideoUpload }) {
  const { id, name, size, sent, state, error, uid } = upload;
  const percent = size === 0 ? 0 : Math.floor((100 * sent) / size);
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text fz="sm" truncate>
          {name} <span className="rp-dimmed">{formatBytes(size)}</span>
        </Text>
        <Group gap={2} wrap="nowrap">
          {state === "sending" && <Control icon="pause" label={`Pause ${name}`} onClick={() => pauseUpload(id)} />}
          {state === "paused" && <Control icon="play" label={`Resume ${name}`} onClick={() => resumeUpload(id)} />}
          {state === "failed" && <Control icon="refresh" label={`Retry ${name}`} onClick={() => resumeUpload(id)} />}
          {state === "done" && uid !== undefined && (
            <Anchor fz="sm" renderRoot={(props) => <Link to={`/stream/${uid}`} {...props} />}>
              Open video
            </Anchor>
          )}
          <Control
            icon="x"
            label={state === "done" ? `Remove ${name} from the list` : `Cancel the upload of ${name}`}
            onClick={() => dismissUpload(id)}
          />
        </Group>
      </Group>
      {state !== "done" && <Progress value={percent} size="sm" aria-label={`Progress of ${name}`} />}
      {state === "failed" ? (
        <Text fz="xs" c="var(--rp-bad)" role="alert">
          {error}
        </Text>
      ) : (
        <Text fz="xs" c="dimmed">
          {describe(upload, percent)}
        </Text>
      )}
    </li>
  );
}

function describe({ state, size, sent, speed }: VideoUpload, percent: number): string {
  if (state === "done") return "Uploaded";
  if (state === "waiting") return "Waiting for other uploads";
  if (state === "paused") return `Paused at ${percent}%`;
  if (speed === 0) return `${percent}%`;
  const left = formatDuration(Math.max(1, Math.round((size - sent) / speed)));
  return `${percent}%, ${formatBytes(Math.round(speed))} per second, ${left} left`;
}

function Control({ icon, label, onClick }: { icon: IconName; label: string; onClick: () => unknown }) {
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} onClick={() => void onClick()}>
        <Icon name={icon} size={14} />
      </ActionIcon>
    </Tooltip>
  );
}
