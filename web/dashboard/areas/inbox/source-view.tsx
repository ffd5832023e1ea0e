import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { formatBytes } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { saveFile } from "../../shared/save-file.ts";
import { inboxKeys, MESSAGE, type MessagePath } from "./queries.ts";

/** More text makes the page slow; the download has all of it. */
const MAX_SHOWN_BYTES = 500_000;

/** The raw message. */
export function SourceView({ path }: { path: MessagePath }) {
  const {
    data: source,
    error,
    refetch,
  } = useQuery({
    queryKey: [...inboxKeys.message(path.account_id, path.message_id), "source"],
    queryFn: async () => {
      const file = await (await api.raw("GET", `${MESSAGE}/raw`, { path: { ...path } })).blob();
      return { file, text: await file.slice(0, MAX_SHOWN_BYTES).text() };
    },
    staleTime: Infinity,
  });
  if (source === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  const { file, text } = source;
  return (
    <>
      <Button
        variant="default"
        size="xs"
        mb="xs"
        leftSection={<Icon name="download" size={13} />}
        onClick={() => saveFile(file, `${path.message_id}.eml`)}
      >
        Download source ({formatBytes(file.size)})
      </Button>
      {file.size > MAX_SHOWN_BYTES && (
        <p className="rp-dimmed">Only the first {formatBytes(MAX_SHOWN_BYTES)} are shown.</p>
      )}
      <CodeView label="Source" text={text} maxHeight="none" wrap />
    </>
  );
}
