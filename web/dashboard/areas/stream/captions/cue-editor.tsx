import { ActionIcon, Button, Group, ScrollArea, Textarea, TextInput, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { useNotify } from "../../../shared/use-notify.ts";
import { streamKeys, videoPath, type Caption } from "../queries.ts";
import { formatTimestamp, formatVtt, parseTime, parseVtt } from "./vtt.ts";

interface Row {
  id: number;
  start: string;
  end: string;
  text: string;
  settings: string;
}

/** Loaded cues have ids from 0, added ones negative ids. */
let nextId = -1;

/** Edits the times and texts of the captions in one language. */
export function CueEditor({
  account,
  uid,
  caption: { language, label },
  onClose,
}: {
  account: string;
  uid: string;
  caption: Caption;
  onClose: () => void;
}) {
  const path = { ...videoPath(account, uid), language };
  const [edited, setEdited] = useState<readonly Row[]>();
  const [invalidCueId, setInvalidCueId] = useState<number>();
  const notify = useNotify();
  const { data: loaded, error } = useQuery({
    queryKey: [...streamKeys.video(account, uid), "cues", language],
    queryFn: async () => {
      const response = await api.raw("GET", "/accounts/{account_id}/stream/{identifier}/captions/{language}/vtt", {
        path,
      });
      return parseVtt(await response.text()).map(({ start, end, text, settings }, index): Row => ({
        // The same after a reload, which would otherwise replace the field in which the user is typing.
        id: index,
        start: formatTimestamp(start),
        end: formatTimestamp(end),
        text,
        settings,
      }));
    },
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = edited ?? loaded;
  const change = (id: number, more: Partial<Row>) =>
    setEdited(rows?.map((row) => (row.id === id ? { ...row, ...more } : row)));

  function save(): Promise<unknown> | false {
    if (rows === undefined) return false;
    const cues = rows.map((row) => ({ ...row, start: parseTime(row.start), end: parseTime(row.end) }));
    const bad = cues.find(({ start, end }) => start === undefined || end === undefined || end <= start);
    setInvalidCueId(bad?.id);
    if (bad !== undefined) return false;
    const body = new FormData();
    body.set("file", new Blob([formatVtt(cues as never)], { type: "text/vtt" }), `${language}.vtt`);
    return api
      .put("/accounts/{account_id}/stream/{identifier}/captions/{language}", { path, body })
      .then(() => queryClient.invalidateQueries({ queryKey: streamKeys.video(account, uid) }))
      .then(() => notify.success(`Captions in ${label} saved`));
  }

  return (
    <FormModal
      title={`Edit captions: ${label}`}
      submitLabel="Save captions"
      opened
      onClose={onClose}
      size="xl"
      onSubmit={save}
    >
      {error !== null && <ErrorState error={error} />}
      {rows === undefined && error === null && <LoadingState />}
      {rows !== undefined && (
        <ScrollArea.Autosize mah="55dvh" viewportProps={{ tabIndex: 0 }}>
          <ol className="rp-stream-cues" aria-label="Cues">
            {rows.map(({ id, start, end, text }, index) => (
              <li key={id}>
                <TextInput
                  aria-label={`Start of cue ${index + 1}`}
                  value={start}
                  error={invalidCueId === id && "Enter times such as 01:02.500, with the end after the start"}
                  onChange={({ currentTarget }) => change(id, { start: currentTarget.value })}
                />
                <TextInput
                  aria-label={`End of cue ${index + 1}`}
                  value={end}
                  onChange={({ currentTarget }) => change(id, { end: currentTarget.value })}
                />
                <Textarea
                  aria-label={`Text of cue ${index + 1}`}
                  autosize
                  minRows={1}
                  value={text}
                  onChange={({ currentTarget }) => change(id, { text: currentTarget.value })}
                />
                <Tooltip label={`Delete cue ${index + 1}`}>
                  <ActionIcon
                    aria-label={`Delete cue ${index + 1}`}
                    onClick={() => setEdited(rows.filter((row) => row.id !== id))}
                  >
                    <Icon name="trash" size={14} />
                  </ActionIcon>
                </Tooltip>
              </li>
            ))}
          </ol>
        </ScrollArea.Autosize>
      )}
      <Group>
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          disabled={rows === undefined}
          onClick={() => {
            const start = parseTime(rows?.at(-1)?.end ?? "0") ?? 0;
            setEdited([
              ...(rows ?? []),
              { id: nextId--, start: formatTimestamp(start), end: formatTimestamp(start + 2), text: "", settings: "" },
            ]);
          }}
        >
          Add cue
        </Button>
      </Group>
    </FormModal>
  );
}
