import { closestCenter, DndContext, KeyboardSensor, PointerSensor, useSensor, useSensors } from "@dnd-kit/core";
import type { Announcements, DragEndEvent } from "@dnd-kit/core";
import {
  arrayMove,
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import { ActionIcon, Paper, Switch } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ActionMenu, ConfirmModal } from "../../shared/confirm-button.tsx";
import { Icon } from "../../shared/icon.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { useAction } from "../../shared/use-action.ts";
import { mailKeys, type Rule } from "./queries.ts";
import { actionSummary, matcherKind, matcherText, ruleName } from "./rule-text.ts";

/** The rules in their order; dragging one, by pointer or keyboard, stores the new order. */
export function RuleList({ zoneId, rules, onEdit }: { zoneId: string; rules: Rule[]; onEdit: (rule: Rule) => void }) {
  const [deleting, setDeleting] = useState<Rule>();
  const key = mailKeys.rules(zoneId);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const reorder = useAction(
    (ordered: Rule[]) =>
      api.put("/zones/{zone_id}/email/routing/order", {
        path: { zone_id: zoneId },
        body: { rules: ordered.map(({ id }) => id) },
      }),
    { done: "Order saved", failed: "Could not save the order" },
  );

  async function move({ active, over }: DragEndEvent) {
    if (over === null || active.id === over.id) return;
    const at = (id: unknown) => rules.findIndex((rule) => rule.id === id);
    const ordered = arrayMove(rules, at(active.id), at(over.id));
    await queryClient.cancelQueries({ queryKey: key });
    // Optimistic update. The refetch then shows the server's order, even after a failure.
    queryClient.setQueryData(key, ordered);
    await reorder.mutateAsync(ordered).catch(() => undefined);
    await queryClient.invalidateQueries({ queryKey: key });
  }

  return (
    <Paper p={0}>
      <DndContext
        sensors={sensors}
        collisionDetection={closestCenter}
        accessibility={{ announcements: announcementsOf(rules), screenReaderInstructions: INSTRUCTIONS }}
        onDragEnd={(event) => void move(event)}
      >
        <SortableContext items={rules.map(({ id }) => id)} strategy={verticalListSortingStrategy}>
          <ol className="rp-mail-rules" aria-label="Routing rules">
            {rules.map((rule) => (
              <RuleRow
                key={rule.id}
                zoneId={zoneId}
                rule={rule}
                onEdit={() => onEdit(rule)}
                onDelete={() => setDeleting(rule)}
              />
            ))}
          </ol>
        </SortableContext>
      </DndContext>
      {deleting !== undefined && (
        <ConfirmModal
          action="Delete rule"
          opened
          onClose={() => setDeleting(undefined)}
          onConfirm={async () => {
            await api.delete("/zones/{zone_id}/email/routing/rules/{rule_identifier}", {
              path: { zone_id: zoneId, rule_identifier: deleting.id },
            });
            await queryClient.invalidateQueries({ queryKey: key });
          }}
        >
          The rule {ruleName(deleting)} will be deleted. Its mail then goes to the next matching rule or the catch-all
          rule.
        </ConfirmModal>
      )}
    </Paper>
  );
}

const INSTRUCTIONS = {
  draggable: "Press Space to pick up the rule, the arrow keys to move it, Space to drop it and Escape to cancel.",
};

/** Screen reader announcements for drag and drop. */
function announcementsOf(rules: readonly Rule[]): Announcements {
  const nameOf = (id: unknown) => {
    const rule = rules.find((item) => item.id === id);
    return rule === undefined ? "Rule" : ruleName(rule);
  };
  const position = (id: unknown) => `position ${rules.findIndex((rule) => rule.id === id) + 1} of ${rules.length}`;
  return {
    onDragStart: ({ active }) => `${nameOf(active.id)} picked up.`,
    onDragOver: ({ active, over }) => (over === null ? undefined : `${nameOf(active.id)} is at ${position(over.id)}.`),
    onDragEnd: ({ active, over }) =>
      over === null ? undefined : `${nameOf(active.id)} dropped at ${position(over.id)}.`,
    onDragCancel: ({ active }) => `${nameOf(active.id)} is back at ${position(active.id)}.`,
  };
}

function RuleRow({
  zoneId,
  rule,
  onEdit,
  onDelete,
}: {
  zoneId: string;
  rule: Rule;
  onEdit: () => void;
  onDelete: () => void;
}) {
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition, isDragging } = useSortable({
    id: rule.id,
  });
  const name = ruleName(rule);
  const toggle = useAction(
    (enabled: boolean) =>
      api.put("/zones/{zone_id}/email/routing/rules/{rule_identifier}", {
        path: { zone_id: zoneId, rule_identifier: rule.id },
        body: { name: rule.name, matchers: rule.matchers, actions: rule.actions, priority: rule.priority, enabled },
      }),
    { failed: "Could not enable or disable the rule", invalidates: [mailKeys.rules(zoneId)] },
  );
  return (
    <li
      ref={setNodeRef}
      data-dragging={isDragging}
      style={{
        ...(transform !== null && { transform: `translate3d(0, ${Math.round(transform.y)}px, 0)` }),
        transition,
      }}
    >
      <ActionIcon
        ref={setActivatorNodeRef}
        className="rp-mail-handle"
        {...attributes}
        {...listeners}
        aria-label={`Move ${name}`}
      >
        <Icon name="drag" size={16} />
      </ActionIcon>
      <div>
        {rule.name !== undefined && <b>{rule.name} </b>}
        {!rule.enabled && <StatusBadge>Disabled</StatusBadge>}
        {rule.matchers.map((matcher, index) => (
          <div key={index}>
            <span className="rp-mono">{matcherText(matcher)}</span>{" "}
            {matcherKind(matcher) !== "" && <StatusBadge>{matcherKind(matcher)}</StatusBadge>}
          </div>
        ))}
      </div>
      <div className="rp-mail-action">{rule.actions.map(actionSummary).join("; ")}</div>
      <Switch
        className="rp-mail-switch"
        size="xs"
        aria-label={`Enable ${name}`}
        checked={rule.enabled}
        disabled={toggle.isPending}
        onChange={({ currentTarget }) => toggle.mutate(currentTarget.checked)}
      />
      <ActionMenu
        label={`Actions for ${name}`}
        items={[
          { label: "Edit", icon: "edit", onClick: onEdit },
          {
            label: rule.enabled ? "Disable" : "Enable",
            icon: rule.enabled ? "pause" : "play",
            onClick: () => toggle.mutate(!rule.enabled),
          },
          { label: "Delete", icon: "trash", danger: true, onClick: onDelete },
        ]}
      />
    </li>
  );
}
