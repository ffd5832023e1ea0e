import { ActionIcon, Anchor, Popover, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { Icon } from "../../shared/icon.tsx";
import { SearchField } from "../../shared/search-field.tsx";
import { KINDS } from "./labels.tsx";
import { workersQuery, type InboxView } from "./queries.ts";

const EXAMPLES = [
  ["from:ada@example.com", "sender, in the envelope or the From field"],
  ["to:support", "recipient"],
  ["subject:invoice", "subject"],
  ['"two words"', "in the addresses, the subject and the text"],
  ["has:attachment", "with attachments"],
  ["status:failed", "worker failed; other values: rejected, accepted, captured"],
  ["is:unread", "not opened yet"],
  ["after:2026-05-01", "since a date (UTC); also before:"],
  ["-from:noreply", "excludes matching messages"],
] as const;

/** Search, type and worker. */
export function Filters({ view, onChange }: { view: InboxView; onChange: (more: Partial<InboxView>) => void }) {
  const account = useAccount();
  const { data: workers = [] } = useQuery(workersQuery(account.id));
  const addTerm = (term: string) => onChange({ search: `${view.search} ${term}`.trim() });
  return (
    <div className="rp-toolbar">
      <SearchField
        label="Search messages"
        width={340}
        value={view.search}
        onChange={(search) => onChange({ search })}
      />
      <Popover position="bottom-start" shadow="md" width={360} trapFocus>
        <Popover.Target>
          <ActionIcon aria-label="Search syntax">
            <Icon name="info" size={15} />
          </ActionIcon>
        </Popover.Target>
        <Popover.Dropdown aria-label="Search syntax" maw="calc(100vw - 2rem)">
          <Text fz="sm" fw={600} mb={6}>
            Search syntax
          </Text>
          <dl className="rp-inbox-syntax">
            {EXAMPLES.map(([term, meaning]) => (
              <div key={term}>
                <dt>
                  <Anchor component="button" type="button" className="rp-mono" onClick={() => addTerm(term)}>
                    {term}
                  </Anchor>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </Popover.Dropdown>
      </Popover>
      <Select
        aria-label="Type"
        placeholder="All types"
        size="xs"
        w={150}
        clearable
        data={KINDS}
        value={view.kind === "" ? null : view.kind}
        onChange={(kind) => onChange({ kind: kind ?? "" })}
      />
      {(workers.length > 1 || view.worker !== "") && (
        <Select
          aria-label="Worker"
          placeholder="All workers"
          size="xs"
          w={170}
          clearable
          searchable
          data={workers}
          value={view.worker === "" ? null : view.worker}
          onChange={(worker) => onChange({ worker: worker ?? "" })}
        />
      )}
    </div>
  );
}
