import { Button, FileInput, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../shared/data-table.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { streamKeys, videoPath, type AudioTrack } from "./queries.ts";

const STATUSES = {
  ready: { tone: "good", text: "Ready" },
  queued: { tone: "info", text: "In progress" },
  error: { tone: "bad", text: "Failed" },
} as const;

/** Additional audio tracks, for example in other languages. */
export function AudioTracks({ account, uid }: { account: string; uid: string }) {
  const [isAdding, adding] = useDisclosure(false);
  const queryKey = [...streamKeys.video(account, uid), "audio"];
  const path = videoPath(account, uid);
  const { data, error, isPending } = useQuery({
    queryKey,
    queryFn: async () => (await api.get("/accounts/{account_id}/stream/{identifier}/audio", { path })).audio,
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === "queued") === true ? 2000 : false),
  });
  const makeDefault = useAction(
    (audio: string) =>
      api.patch("/accounts/{account_id}/stream/{identifier}/audio/{audio_identifier}", {
        path: { ...path, audio_identifier: audio },
        body: { default: true },
      }),
    { done: "Default audio track saved", failed: "Could not save the default audio track", invalidates: [queryKey] },
  );
  const columns: readonly Column<AudioTrack>[] = [
    { id: "label", header: "Label", render: ({ label }) => label },
    {
      id: "status",
      header: "Status",
      width: 120,
      render: ({ status }) => <StatusBadge tone={STATUSES[status].tone}>{STATUSES[status].text}</StatusBadge>,
    },
    {
      id: "default",
      header: "Default",
      width: 130,
      render: (track) =>
        track.default ? (
          "Default"
        ) : (
          <Button
            variant="default"
            size="compact-xs"
            aria-label={`Make ${track.label} the default`}
            disabled={track.status !== "ready"}
            onClick={() => makeDefault.mutate(track.uid)}
          >
            Make default
          </Button>
        ),
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (track) =>
        !track.default && (
          <ConfirmButton
            icon="trash"
            action="Delete audio track"
            label={`Delete ${track.label}`}
            onConfirm={() =>
              api
                .delete("/accounts/{account_id}/stream/{identifier}/audio/{audio_identifier}", {
                  path: { ...path, audio_identifier: track.uid },
                })
                .then(() => queryClient.invalidateQueries({ queryKey }))
            }
          >
            The audio track {track.label} will be deleted.
          </ConfirmButton>
        ),
    },
  ];
  return (
    <Section
      title="Audio tracks"
      actions={
        <Button variant="default" onClick={adding.open}>
          Add audio track
        </Button>
      }
    >
      <DataTable
        label="Audio tracks"
        columns={columns}
        list={{ items: data ?? [], isLoading: isPending, error }}
        rowKey={(track) => track.uid}
        empty={<EmptyState icon="list" title="No additional audio tracks" />}
      />
      <AddTrack path={path} queryKey={queryKey} opened={isAdding} onClose={adding.close} />
    </Section>
  );
}

function AddTrack({
  path,
  queryKey,
  opened,
  onClose,
}: {
  path: ReturnType<typeof videoPath>;
  queryKey: readonly string[];
  opened: boolean;
  onClose: () => void;
}) {
  const [label, setLabel] = useState("");
  const [url, setUrl] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [problem, setProblem] = useState<string>();

  async function add() {
    if (file === null)
      await api.post("/accounts/{account_id}/stream/{identifier}/audio/copy", {
        path,
        body: { label: label.trim(), url: url.trim() },
      });
    else {
      const body = new FormData();
      body.set("label", label.trim());
      body.set("file", file, file.name);
      await api.post("/accounts/{account_id}/stream/{identifier}/audio", { path, body });
    }
    setLabel("");
    setUrl("");
    setFile(null);
    await queryClient.invalidateQueries({ queryKey });
  }

  return (
    <FormModal
      title="Add audio track"
      opened={opened}
      onClose={onClose}
      onSubmit={() => {
        const missing =
          label.trim() === ""
            ? "Enter a label"
            : file === null && url.trim() === ""
              ? "Select a file or enter a URL"
              : undefined;
        setProblem(missing);
        return missing === undefined && add();
      }}
    >
      <TextInput
        label="Label"
        description="Shown in the menu of the player."
        placeholder="English"
        data-autofocus
        value={label}
        error={problem === "Enter a label" && problem}
        onChange={({ currentTarget }) => setLabel(currentTarget.value)}
      />
      <FileInput
        label="File"
        placeholder="Select a file"
        accept="audio/*"
        clearable
        value={file}
        onChange={setFile}
        error={problem !== "Enter a label" && problem}
      />
      <TextInput
        label="Or URL of the file"
        placeholder="https://example.com/audio.m4a"
        disabled={file !== null}
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
      />
    </FormModal>
  );
}
