import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { Icon } from "./icon.tsx";

/** Buttons for the previous and the next page of a list. */
export function PageButtons({
  page,
  hasNext,
  onPage,
}: {
  page: number;
  hasNext: boolean;
  onPage: (page: number) => void;
}) {
  return (
    <Group gap={4}>
      <Tooltip label="Previous page">
        <ActionIcon variant="default" aria-label="Previous page" disabled={page <= 1} onClick={() => onPage(page - 1)}>
          <Icon name="chevron-left" size={14} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Next page">
        <ActionIcon variant="default" aria-label="Next page" disabled={!hasNext} onClick={() => onPage(page + 1)}>
          <Icon name="chevron-right" size={14} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}
