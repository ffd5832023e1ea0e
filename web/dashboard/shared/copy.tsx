import { ActionIcon, CopyButton as MantineCopyButton, Group, Text, Tooltip } from "@mantine/core";
import { Icon } from "./icon.tsx";
import { inSentence } from "./text.ts";

/** Copies `value`. `label` names it for screen readers and the tooltip: "Copy URL". */
export function CopyButton({ value, label = "Copy" }: { value: string; label?: string }) {
  return (
    <MantineCopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : label}>
          <ActionIcon aria-label={copied ? "Copied" : label} onClick={copy} size="sm">
            <Icon name={copied ? "check" : "copy"} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </MantineCopyButton>
  );
}

/** A value to copy on one line, with a name above it. */
export function CopyField({ label, value, wrap = false }: { label?: string; value: string; wrap?: boolean }) {
  return (
    <div>
      {label !== undefined && (
        <Text fz="xs" c="dimmed" mb={2}>
          {label}
        </Text>
      )}
      <Group gap={4} wrap="nowrap" className="rp-copy-field">
        <code className="rp-copy-value" data-wrap={wrap} tabIndex={0}>
          {value}
        </code>
        <CopyButton value={value} label={label === undefined ? "Copy" : `Copy ${inSentence(label)}`} />
      </Group>
    </div>
  );
}
