import { Anchor, Group, Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Column } from "../../shared/data-table.tsx";
import { Bytes, RelativeTime } from "../../shared/format.tsx";
import { Icon } from "../../shared/icon.tsx";
import { MessageKind, MessageStatus, senderOf, subjectOf } from "./labels.tsx";
import { urlSearchOf, type InboxView, type Message } from "./queries.ts";

export const messageColumns = (view: InboxView): readonly Column<Message>[] => [
  {
    id: "subject",
    header: "Subject",
    render: (message) => (
      <div className="rp-inbox-subject" data-unread={!message.read}>
        <Group gap={6} wrap="nowrap">
          <Anchor
            renderRoot={(props) => (
              <Link to={`/inbox/${message.id}`} search={urlSearchOf(view)} data-message={message.id} {...props} />
            )}
            fz="sm"
            fw={message.read ? 400 : 600}
            className="rp-inbox-link"
          >
            {subjectOf(message)}
          </Anchor>
          {message.attachment_count > 0 && <Attachments count={message.attachment_count} />}
          {!message.read && <span className="rp-visually-hidden">Unread</span>}
        </Group>
        <span className="rp-inbox-preview">{message.preview}</span>
      </div>
    ),
  },
  {
    id: "from",
    header: "From",
    width: "15%",
    render: (message) => (
      <span className="rp-inbox-cell" title={message.author === "" ? undefined : message.author}>
        {senderOf(message)}
      </span>
    ),
  },
  {
    id: "to",
    header: "To",
    width: "15%",
    render: ({ to: [first = "–", ...more] }) => (
      <span className="rp-inbox-cell" title={[first, ...more].join(", ")}>
        {first}
        {more.length > 0 && <span className="rp-dimmed"> +{more.length}</span>}
      </span>
    ),
  },
  { id: "kind", header: "Type", width: 96, render: ({ kind }) => <MessageKind kind={kind} /> },
  { id: "status", header: "Status", width: 96, render: ({ status }) => <MessageStatus status={status} /> },
  {
    id: "worker",
    header: "Worker",
    width: 110,
    wideOnly: true,
    render: ({ worker }) => worker ?? <span className="rp-dimmed">–</span>,
  },
  { id: "size", header: "Size", width: 80, align: "end", wideOnly: true, render: ({ size }) => <Bytes value={size} /> },
  { id: "time", header: "Time", width: 116, render: ({ created_on: created }) => <RelativeTime value={created} /> },
];

function Attachments({ count }: { count: number }) {
  const label = count === 1 ? "1 attachment" : `${count} attachments`;
  return (
    <Tooltip label={label}>
      <span className="rp-dimmed">
        <Icon name="file" size={13} />
        <span className="rp-visually-hidden">{label}</span>
      </span>
    </Tooltip>
  );
}
