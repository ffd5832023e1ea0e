import { Button, Select, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { accountsQuery, twoFactorQuery, useAccount } from "../../../api/account.ts";
import { api } from "../../../api/client.ts";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../../shared/status-badge.tsx";
import { useAction } from "../../../shared/use-action.ts";
import { usePagedList, usePageState } from "../../../shared/use-list.ts";
import { useLiveEvents } from "../../../shared/use-live-events.ts";
import { settingsKeys, userQuery, type Member } from "../queries.ts";
import { InviteMember } from "./invite-member.tsx";
import { MemberActions } from "./member-actions.tsx";
import { roleName } from "./role-name.ts";

const STATUSES: Record<Member["status"], { tone: Tone; text: string }> = {
  accepted: { tone: "good", text: "Active" },
  pending: { tone: "info", text: "Invited" },
  rejected: { tone: "neutral", text: "Declined" },
};

const nameOf = ({ user: { first_name: first, last_name: last } }: Member) =>
  [first, last].filter((part) => part !== null && part !== "").join(" ");

export default function MembersPage() {
  const account = useAccount();
  const [state, change] = usePageState({ page: 1, status: "" });
  const [isInviting, inviting] = useDisclosure(false);
  const { data: user } = useQuery(userQuery);
  const key = settingsKeys.members(account.id);
  useLiveEvents(["members"], [key]);
  const list = usePagedList<Member>([...key, state.status], state.page, (request) =>
    api.list("/accounts/{account_id}/members", {
      path: { account_id: account.id },
      query: { ...request, ...(state.status !== "" && { status: state.status as Member["status"] }) },
    }),
  );
  const requireTwoFactor = useAction(
    (on: boolean) =>
      api.put("/accounts/{account_id}", {
        path: { account_id: account.id },
        body: { name: account.name, settings: { enforce_twofactor: on } },
      }),
    {
      done: "Setting saved",
      failed: "Could not save the setting",
      invalidates: [accountsQuery.queryKey, twoFactorQuery.queryKey],
    },
  );
  const columns: readonly Column<Member>[] = [
    { id: "email", header: "Email", render: ({ email }) => email },
    { id: "name", header: "Name", wideOnly: true, render: (member) => nameOf(member) || "–" },
    { id: "role", header: "Role", render: ({ roles }) => (roles[0] === undefined ? "–" : roleName(roles[0].name)) },
    {
      id: "status",
      header: "Status",
      width: 110,
      render: ({ status }) => <StatusBadge tone={STATUSES[status].tone}>{STATUSES[status].text}</StatusBadge>,
    },
    {
      id: "expires",
      header: "Invitation expires",
      wideOnly: true,
      render: ({ invitation }) => <RelativeTime value={invitation?.expires_on} />,
    },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (member) => <MemberActions member={member} isOwn={member.user.id === user?.id} />,
    },
  ];
  const invite = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={inviting.open}>
      Invite member
    </Button>
  );
  return (
    <Page title="Members" description={`People with access to ${account.name}.`} actions={invite}>
      <Switch
        label="Require two-factor authentication"
        description="Members without a one-time code, a passkey or single sign-on can only set up a second factor."
        checked={requireTwoFactor.isPending ? requireTwoFactor.variables : account.settings.enforce_twofactor}
        disabled={requireTwoFactor.isPending}
        onChange={({ currentTarget }) => requireTwoFactor.mutate(currentTarget.checked)}
      />
      <div className="rp-toolbar">
        <Select
          aria-label="Status"
          size="xs"
          w={160}
          data={[
            { value: "", label: "All statuses" },
            { value: "accepted", label: "Active" },
            { value: "pending", label: "Invited" },
            { value: "rejected", label: "Declined" },
          ]}
          value={state.status}
          onChange={(status) => change({ status: status ?? "", page: 1 })}
        />
      </div>
      <DataTable
        label="Members"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onPage={(page) => change({ page })}
        empty={<EmptyState icon="users" title="No members with this status" />}
      />
      <InviteMember opened={isInviting} onClose={inviting.close} />
    </Page>
  );
}
