import { Anchor, Button, Group, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type ResultOf } from "../../api/client.ts";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { inboxKeys, type MessagePath } from "./queries.ts";

type MessageLink = ResultOf<"GET", "/accounts/{account_id}/email/inbox/messages/{message_id}/links">[number];

const LINKS = "/accounts/{account_id}/email/inbox/messages/{message_id}/links";

/**
 * The links of a message. The server requests them only when asked to, because a request may confirm or unsubscribe.
 */
export function LinkList({ path }: { path: MessagePath }) {
  const [isPrivate, setPrivate] = useState(false);
  const [checked, setChecked] = useState<MessageLink[]>();
  const { data, error, refetch } = useQuery({
    queryKey: [...inboxKeys.message(path.account_id, path.message_id), "links"],
    queryFn: () => api.get(LINKS, { path: { ...path } }),
    staleTime: Infinity,
  });
  const check = useAction(() => api.get(LINKS, { path: { ...path }, query: { check: true, private: isPrivate } }), {
    failed: "Could not check the links",
    onDone: setChecked,
  });
  if (data === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data.length === 0) return <EmptyState icon="link" title="The message has no links" />;
  return (
    <>
      <Group gap="md" mb="xs">
        <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate()}>
          Check links
        </Button>
        <Switch
          size="xs"
          label="Also check links to private networks"
          checked={isPrivate}
          onChange={({ currentTarget }) => setPrivate(currentTarget.checked)}
        />
      </Group>
      <ul className="rp-inbox-items" aria-label="Links">
        {(checked ?? data).map((link) => (
          <li key={`${link.kind} ${link.url}`}>
            <LinkItem link={link} />
          </li>
        ))}
      </ul>
    </>
  );
}

function LinkItem({ link: { url, kind, status, final_url: finalUrl, error } }: { link: MessageLink }) {
  const isChecked = status !== null || error !== null;
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap" align="start">
      <div>
        <Anchor href={url} target="_blank" rel="noreferrer" fz="sm">
          {url}
        </Anchor>
        {finalUrl !== null && finalUrl !== url && (
          <Text fz="xs" c="dimmed">
            Redirects to {finalUrl}
          </Text>
        )}
        {error !== null && (
          <Text fz="xs" c="dimmed">
            {error}
          </Text>
        )}
      </div>
      <Group gap={6} wrap="nowrap">
        {kind === "resource" && <StatusBadge>Embedded resource</StatusBadge>}
        {isChecked && (
          <StatusBadge tone={status === null || status >= 400 ? "bad" : "good"}>{status ?? "Failed"}</StatusBadge>
        )}
      </Group>
    </Group>
  );
}
