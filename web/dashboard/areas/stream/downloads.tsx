import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { CopyButton } from "../../shared/copy.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { streamKeys, videoPath, type Video } from "./queries.ts";

const KINDS = [
  { kind: "default", name: "MP4 video" },
  { kind: "audio", name: "M4A audio" },
] as const;

/** Files for offline playback: created on request. */
export function Downloads({ video, account }: { video: Video; account: string }) {
  const queryKey = [...streamKeys.video(account, video.uid), "downloads"];
  const path = videoPath(account, video.uid);
  const { data, error } = useQuery({
    queryKey,
    queryFn: () => api.get("/accounts/{account_id}/stream/{identifier}/downloads", { path }),
    enabled: video.readyToStream,
    refetchInterval: ({ state: { data: last } }) =>
      Object.values(last ?? {}).some(({ status }) => status === "inprogress") ? 2000 : false,
  });
  const create = useAction(
    (kind: string) =>
      api.post("/accounts/{account_id}/stream/{identifier}/downloads/{download_type}", {
        path: { ...path, download_type: kind },
      }),
    { failed: "Could not create the download", invalidates: [queryKey] },
  );
  if (!video.readyToStream) return null;
  return (
    <Section title="Downloads">
      {error !== null && <ErrorState error={error} />}
      <Stack gap="xs">
        {KINDS.map(({ kind, name }) => {
          const download = data?.[kind];
          return (
            <Group key={kind} justify="space-between" gap="xs">
              <Text fz="sm">{name}</Text>
              {download === undefined ? (
                <Button
                  variant="default"
                  aria-label={`Create ${name}`}
                  loading={create.isPending && create.variables === kind}
                  disabled={data === undefined}
                  onClick={() => create.mutate(kind)}
                >
                  Create
                </Button>
              ) : (
                <Group gap={6}>
                  {download.status === "ready" ? (
                    <>
                      <Anchor href={download.url} fz="sm" download>
                        <Icon name="download" size={14} /> Download
                      </Anchor>
                      <CopyButton value={download.url} label={`Copy URL of ${name}`} />
                    </>
                  ) : (
                    <StatusBadge tone={download.status === "error" ? "bad" : "info"}>
                      {download.status === "error" ? "Failed" : `${Math.floor(download.percentComplete)}%`}
                    </StatusBadge>
                  )}
                  <ConfirmButton
                    icon="trash"
                    action="Delete download"
                    label={`Delete ${name}`}
                    onConfirm={() =>
                      api
                        .delete("/accounts/{account_id}/stream/{identifier}/downloads/{download_type}", {
                          path: { ...path, download_type: kind },
                        })
                        .then(() => queryClient.invalidateQueries({ queryKey }))
                    }
                  >
                    The file will be deleted, and its URL will stop working. The video is kept.
                  </ConfirmButton>
                </Group>
              )}
            </Group>
          );
        })}
      </Stack>
    </Section>
  );
}
