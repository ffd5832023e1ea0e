import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** Shown instead of a list without rows: what belongs here, and how to add the first one. */
export function EmptyState({
  icon = "list",
  title,
  children,
  actions,
}: {
  icon?: IconName;
  title: string;
  /** One sentence. */
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <Stack align="center" gap={6} className="rp-state">
      <span className="rp-state-icon">
        <Icon name={icon} size={20} />
      </span>
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text c="dimmed" fz="sm" ta="center" maw="32rem" component="div">
          {children}
        </Text>
      )}
      {actions !== undefined && (
        <Group gap="xs" mt="xs">
          {actions}
        </Group>
      )}
    </Stack>
  );
}
