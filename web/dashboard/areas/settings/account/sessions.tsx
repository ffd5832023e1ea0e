import { Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { ConfirmButton } from "../../../shared/confirm-button.tsx";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Section } from "../../../shared/page.tsx";
import { StatusBadge } from "../../../shared/status-badge.tsx";
import { usePagedList } from "../../../shared/use-list.ts";
import { useNotify } from "../../../shared/use-notify.ts";
import { settingsKeys, type Session } from "../queries.ts";
import { describeBrowser } from "./user-agent.ts";

const METHODS: Record<Session["method"], string> = {
  link: "Sign-in link",
  password: "Password",
  passkey: "Passkey",
  oidc: "Single sign-on",
};

const COLUMNS: readonly Column<Session>[] = [
  {
    id: "browser",
    header: "Browser",
    render: ({ user_agent: agent, current }) => (
      <>
        <span title={agent ?? undefined}>{describeBrowser(agent)}</span>{" "}
        {current && <StatusBadge tone="info">This session</StatusBadge>}
      </>
    ),
  },
  {
    id: "method",
    header: "Signed in with",
    render: ({ method, two_factor: hasCode }) => `${METHODS[method]}${hasCode ? " and code" : ""}`,
  },
  { id: "ip", header: "IP address", render: ({ ip }) => <span className="rp-mono">{ip ?? "–"}</span> },
  { id: "created", header: "Signed in", wideOnly: true, render: ({ created_on: at }) => <RelativeTime value={at} /> },
  { id: "used", header: "Last used", render: ({ last_used_on: at }) => <RelativeTime value={at} /> },
  {
    id: "actions",
    label: "Actions",
    width: 48,
    render: (session) => (session.current ? null : <RevokeSession session={session} />),
  },
];

export function Sessions() {
  const [page, setPage] = useState(1);
  const list = usePagedList<Session>(
    settingsKeys.sessions,
    page,
    (request) => api.list("/user/sessions", { query: request }),
    { perPage: 20 },
  );
  const hasOthers = list.items.some(({ current }) => !current);
  return (
    <Section title="Sessions" {...(hasOthers && { actions: <RevokeOthers /> })}>
      <DataTable
        label="Sessions"
        columns={COLUMNS}
        list={list}
        rowKey={({ id }) => id}
        onPage={setPage}
        empty={
          <EmptyState icon="user" title="No sessions">
            You use an API token, which has no session.
          </EmptyState>
        }
      />
    </Section>
  );
}

function useRefresh() {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: settingsKeys.sessions });
}

function RevokeSession({ session: { id, user_agent: agent, ip } }: { session: Session }) {
  const refresh = useRefresh();
  const notify = useNotify();
  return (
    <ConfirmButton
      icon="x"
      action="Revoke session"
      label={`Revoke the session of ${describeBrowser(agent)}${ip === null ? "" : ` at ${ip}`}`}
      onConfirm={async () => {
        await api.delete("/user/sessions/{session_id}", { path: { session_id: id } });
        await refresh();
        notify.success("Session revoked");
      }}
    >
      The browser will be signed out at its next request.
    </ConfirmButton>
  );
}

function RevokeOthers() {
  const refresh = useRefresh();
  const notify = useNotify();
  return (
    <ConfirmButton
      action="Revoke other sessions"
      onConfirm={async () => {
        const { revoked } = await api.delete("/user/sessions");
        await refresh();
        notify.success(revoked === 1 ? "1 session revoked" : `${revoked} sessions revoked`);
      }}
    >
      <Text fz="sm">All browsers except this one will be signed out.</Text>
    </ConfirmButton>
  );
}
