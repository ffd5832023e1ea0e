import { ActionIcon, Button, FileButton, Group, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type RefObject } from "react";
import { api } from "../../../api/client.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { Section } from "../../../shared/page.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { useAction } from "../../../shared/use-action.ts";
import { formatTimestamp, parseTime } from "../captions/vtt.ts";
import { streamKeys, videoPath, type Video } from "../queries.ts";
import { usePlayerPosition } from "./player-position.ts";

interface Row {
  id: number;
  start: string;
  title: string;
}

let nextId = 0;
const CHAPTERS_PATH = "/accounts/{account_id}/stream/{identifier}/chapters";

/**
 * Lists and edits the chapters of a video. `player`: the player's frame, whose position becomes the start of a new
 * chapter.
 */
export function Chapters({
  video,
  account,
  player,
  onSaved,
}: {
  video: Video;
  account: string;
  player: RefObject<HTMLIFrameElement | null>;
  onSaved: () => void;
}) {
  const path = videoPath(account, video.uid);
  const queryKey = [...streamKeys.video(account, video.uid), "chapters"];
  const [edited, setEdited] = useState<readonly Row[]>();
  const [invalid, setInvalid] = useState<{ id: number; start?: string; title?: string }>();
  const position = usePlayerPosition(player);
  const { data, error, refetch } = useQuery({ queryKey, queryFn: () => api.get(CHAPTERS_PATH, { path }) });
  const rows =
    edited ??
    data?.chapters.map(({ start, title }, index): Row => ({ id: -1 - index, start: formatTimestamp(start), title }));
  const finish = () => {
    setEdited(undefined);
    onSaved();
  };
  const save = useAction(
    (chapters: { start: number; title: string }[]) => api.put(CHAPTERS_PATH, { path, body: { chapters } }),
    { done: "Chapters saved", failed: "Could not save the chapters", invalidates: [queryKey], onDone: finish },
  );
  const importFile = useAction((file: File) => api.put(`${CHAPTERS_PATH}/vtt`, { path, body: file }), {
    done: ({ chapters }) => `${chapters.length} ${chapters.length === 1 ? "chapter" : "chapters"} imported`,
    failed: "Could not import the chapters",
    invalidates: [queryKey],
    onDone: finish,
  });
  const exportFile = useAction(
    async () => saveFile(await (await api.raw("GET", `${CHAPTERS_PATH}/vtt`, { path })).blob(), "chapters.vtt"),
    { failed: "Could not export the chapters" },
  );

  if (rows === undefined)
    return (
      <Section title="Chapters">
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Section>
    );

  const change = (id: number, more: Partial<Row>) =>
    setEdited(rows.map((row) => (row.id === id ? { ...row, ...more } : row)));

  function add() {
    const start = position.current();
    const row = { id: nextId++, start: formatTimestamp(start), title: "" };
    const after = rows!.findIndex((other) => (parseTime(other.start) ?? 0) > start);
    setEdited(rows!.toSpliced(after === -1 ? rows!.length : after, 0, row));
  }

  function submit() {
    const problem = rows!
      .map(({ id, start, title }) => ({
        id,
        ...(parseTime(start) === undefined && { start: "Enter a time such as 01:02.500" }),
        ...(title.trim() === "" && { title: "Enter a title" }),
      }))
      .find((row) => "start" in row || "title" in row);
    setInvalid(problem);
    if (problem === undefined) save.mutate(rows!.map(({ start, title }) => ({ start: parseTime(start)!, title })));
  }

  const actions = (
    <>
      <FileButton accept=".vtt,.srt,text/vtt" onChange={(file) => file !== null && importFile.mutate(file)}>
        {(props) => (
          <Button variant="default" loading={importFile.isPending} {...props}>
            Import WebVTT
          </Button>
        )}
      </FileButton>
      {data !== undefined && data.chapters.length > 0 && (
        <Button variant="default" loading={exportFile.isPending} onClick={() => exportFile.mutate()}>
          Export WebVTT
        </Button>
      )}
    </>
  );
  return (
    <Section title="Chapters" description="The player shows them on the timeline and in its menu." actions={actions}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack gap="xs">
          {rows.length === 0 ? (
            <Text fz="sm" c="dimmed">
              No chapters yet
            </Text>
          ) : (
            <ol className="rp-stream-chapters" aria-label="Chapters">
              {rows.map(({ id, start, title }, index) => (
                <li key={id}>
                  <TextInput
                    aria-label={`Start of chapter ${index + 1}`}
                    value={start}
                    error={invalid?.id === id && invalid.start}
                    onChange={({ currentTarget }) => change(id, { start: currentTarget.value })}
                  />
                  <TextInput
                    aria-label={`Title of chapter ${index + 1}`}
                    maxLength={200}
                    // A new row takes the focus, so that the user can type the title.
                    autoFocus={id >= 0}
                    value={title}
                    error={invalid?.id === id && invalid.title}
                    onChange={({ currentTarget }) => change(id, { title: currentTarget.value })}
                  />
                  <Tooltip label={`Delete chapter ${index + 1}`}>
                    <ActionIcon
                      aria-label={`Delete chapter ${index + 1}`}
                      onClick={() => setEdited(rows.filter((row) => row.id !== id))}
                    >
                      <Icon name="trash" size={14} />
                    </ActionIcon>
                  </Tooltip>
                </li>
              ))}
            </ol>
          )}
          <Group justify="space-between" gap="xs">
            <Button variant="default" leftSection={<Icon name="plus" size={14} />} onClick={add}>
              Add chapter at current position
            </Button>
            {edited !== undefined && (
              <Group gap="xs">
                <Button
                  variant="default"
                  onClick={() => {
                    setEdited(undefined);
                    setInvalid(undefined);
                  }}
                >
                  Discard changes
                </Button>
                <Button type="submit" loading={save.isPending}>
                  Save chapters
                </Button>
              </Group>
            )}
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
