import { Modal, Stack, Text } from "@mantine/core";
import { formatTime } from "../../../shared/format.tsx";
import { KeyValue } from "../../../shared/key-value.tsx";
import type { AuditEntry } from "../queries.ts";
import { DiffView } from "./diff-view.tsx";

/** One change: who made it, and the values before and after. */
export function EntryDetails({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { actor, resource, metadata, oldValueJson: before, newValueJson: after } = entry;
  const hasValues = before !== undefined || after !== undefined;
  return (
    <Modal opened onClose={onClose} title={metadata.summary} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="md">
        <KeyValue
          items={[
            ["Time", formatTime(entry.when)],
            ["Actor", actor.email ?? "The server's operator"],
            ["IP address", actor.ip],
            ["Token or session", metadata.token_id],
            ["User agent", metadata.user_agent],
            ["Operation", metadata.operation],
            ["Request", metadata.method === undefined ? undefined : `${metadata.method} ${metadata.path ?? ""}`],
            ["Request ID", metadata.request_id],
            ["Resource", [resource.type, resource.id].filter((part) => part !== undefined).join(" ")],
            ["Zone", metadata.zone_name],
          ]}
        />
        {hasValues ? (
          <DiffView label="Changes" before={before} after={after} />
        ) : (
          <Text fz="sm" c="dimmed">
            This entry records no values before or after the change.
          </Text>
        )}
      </Stack>
    </Modal>
  );
}
