import { Button, SegmentedControl } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useAccount } from "../../../api/account.ts";
import { DataTable, type Column } from "../../../shared/data-table.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { RelativeTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { Page } from "../../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../../shared/status-badge.tsx";
import { usePagedList, usePageState } from "../../../shared/use-list.ts";
import { useLiveEvents } from "../../../shared/use-live-events.ts";
import { settingsKeys, type Token } from "../queries.ts";
import { CreateToken } from "./create-token.tsx";
import { listTokens, type TokenKind, type TokenOwner } from "./token-api.ts";
import { TokenActions } from "./token-actions.tsx";
import { TokenValue } from "./token-value.tsx";

const TONES: Record<Token["status"], Tone> = { active: "good", disabled: "neutral", expired: "warning" };
const STATUSES: Record<Token["status"], string> = { active: "Active", disabled: "Disabled", expired: "Expired" };
const SHOWN_PERMISSIONS = 3;

/** `DNS Write, Stream Read and 4 more` */
function permissionsOf({ policies }: Token): string {
  const names = policies.flatMap(({ permission_groups: groups }) => groups.map(({ id, name }) => name ?? id));
  const rest = names.length - SHOWN_PERMISSIONS;
  const shown = names.slice(0, SHOWN_PERMISSIONS).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

export default function TokensPage() {
  const account = useAccount();
  const [state, change] = usePageState({ page: 1, owner: "user" });
  const owner: TokenOwner = { kind: state.owner as TokenKind, account: account.id };
  const [isCreating, creating] = useDisclosure(false);
  const [shown, setShown] = useState<{ name: string; value: string }>();
  useLiveEvents(["tokens"], [settingsKeys.tokens]);
  const list = usePagedList<Token>([...settingsKeys.tokens, owner.kind, account.id], state.page, (request) =>
    listTokens(owner, request),
  );
  const columns: readonly Column<Token>[] = [
    { id: "name", header: "Name", render: ({ name }) => name },
    {
      id: "permissions",
      header: "Permissions",
      wideOnly: true,
      render: (token) => <span className="rp-dimmed">{permissionsOf(token)}</span>,
    },
    {
      id: "status",
      header: "Status",
      width: 100,
      render: ({ status }) => <StatusBadge tone={TONES[status]}>{STATUSES[status]}</StatusBadge>,
    },
    { id: "used", header: "Last used", width: 130, render: ({ last_used_on: at }) => <RelativeTime value={at} /> },
    { id: "expires", header: "Expires", width: 130, render: ({ expires_on: at }) => <RelativeTime value={at} /> },
    {
      id: "actions",
      label: "Actions",
      width: 48,
      render: (token) => <TokenActions owner={owner} token={token} onRolled={setShown} />,
    },
  ];
  const create = (
    <Button leftSection={<Icon name="plus" size={14} />} onClick={creating.open}>
      Create token
    </Button>
  );
  return (
    <Page
      title="API tokens"
      description="Credentials for scripts, wrangler, Terraform and SDKs. A token never has more permissions than its creator."
      actions={create}
    >
      <div className="rp-toolbar">
        <SegmentedControl
          aria-label="Owner"
          data={[
            { value: "user", label: "Your tokens" },
            { value: "account", label: "Account tokens" },
          ]}
          value={owner.kind}
          onChange={(kind) => change({ owner: kind, page: 1 })}
        />
      </div>
      <DataTable
        label="API tokens"
        columns={columns}
        list={list}
        rowKey={({ id }) => id}
        onPage={(page) => change({ page })}
        empty={
          <EmptyState icon="key" title="No tokens yet" actions={create}>
            {owner.kind === "user"
              ? "Your tokens act as you, with the permissions that you select."
              : "An account token keeps working after its creator leaves."}
          </EmptyState>
        }
      />
      <CreateToken owner={owner} opened={isCreating} onClose={creating.close} onCreated={setShown} />
      {shown !== undefined && <TokenValue owner={owner} token={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}
