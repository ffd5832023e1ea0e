import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Section } from "../../shared/page.tsx";
import { DomainFrame } from "./domain-frame.tsx";
import { mailKeys, type Rule, type RoutingZone } from "./queries.ts";
import { CatchAll } from "./catch-all.tsx";
import { RuleForm } from "./rule-form.tsx";
import { RuleList } from "./rule-list.tsx";
import { RuleTester } from "./rule-tester.tsx";

const PER_PAGE = 50;

/** All rules: their order cannot be changed page by page. A zone has at most a few hundred. */
async function loadRules(zoneId: string): Promise<Rule[]> {
  const rules: Rule[] = [];
  for (let page = 1; ; page++) {
    const { items } = await api.list("/zones/{zone_id}/email/routing/rules", {
      path: { zone_id: zoneId },
      query: { order: "priority", direction: "asc", page, per_page: PER_PAGE },
    });
    rules.push(...items);
    if (items.length < PER_PAGE) return rules.filter(({ matchers }) => matchers[0]?.type !== "all");
  }
}

export default function RulesPage() {
  const [editing, setEditing] = useState<Rule | "new">();
  const create = () => setEditing("new");
  return (
    <DomainFrame
      tab="rules"
      actions={
        <Button leftSection={<Icon name="plus" size={14} />} onClick={create}>
          Create rule
        </Button>
      }
    >
      {(zone, zoneId) => (
        <Stack gap="lg">
          <Rules zoneId={zoneId} onCreate={create} onEdit={setEditing} />
          <CatchAll zoneId={zoneId} />
          <RuleTester zone={zone} zoneId={zoneId} />
          {editing !== undefined && (
            <EditRule zone={zone} zoneId={zoneId} rule={editing} onClose={() => setEditing(undefined)} />
          )}
        </Stack>
      )}
    </DomainFrame>
  );
}

function EditRule({
  zone,
  zoneId,
  rule,
  onClose,
}: {
  zone: RoutingZone;
  zoneId: string;
  rule: Rule | "new";
  onClose: () => void;
}) {
  return <RuleForm domain={zone.name} zoneId={zoneId} onClose={onClose} {...(rule !== "new" && { rule })} />;
}

function Rules({ zoneId, onCreate, onEdit }: { zoneId: string; onCreate: () => void; onEdit: (rule: Rule) => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: mailKeys.rules(zoneId),
    queryFn: () => loadRules(zoneId),
  });
  return (
    <Section
      title="Rules"
      description="Exact addresses take precedence over patterns. Otherwise, the first matching rule applies. Drag a rule to move it, or focus its handle and use Space and the arrow keys."
    >
      {data === undefined ? (
        error === null ? (
          <LoadingState rows={4} />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : data.length === 0 ? (
        <EmptyState icon="list" title="No rules yet" actions={<Button onClick={onCreate}>Create rule</Button>}>
          A rule forwards mail for an address or a pattern, passes it to a worker, or drops it.
        </EmptyState>
      ) : (
        <RuleList zoneId={zoneId} rules={data} onEdit={onEdit} />
      )}
    </Section>
  );
}
