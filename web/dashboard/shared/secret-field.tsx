import { ActionIcon, Group, Text, Tooltip } from "@mantine/core";
import { useState } from "react";
import { CopyButton } from "./copy.tsx";
import { Icon } from "./icon.tsx";
import { inSentence } from "./text.ts";
import { useNotify } from "./use-notify.ts";

/** A secret that stays hidden until it is requested. `load` reads it on request; `value` is already known. */
export function SecretField({
  label,
  value,
  load,
}: { label: string } & ({ value: string; load?: never } | { load: () => Promise<string>; value?: never })) {
  const [shown, setShown] = useState<string>();
  const [isLoading, setLoading] = useState(false);
  const notify = useNotify();

  async function show() {
    if (value !== undefined) return setShown(value);
    setLoading(true);
    try {
      setShown(await load!());
    } catch (error) {
      notify.error(error, `Could not load the ${inSentence(label)}`);
    } finally {
      setLoading(false);
    }
  }

  return (
    <div>
      <Text fz="xs" c="dimmed" mb={2}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap" className="rp-copy-field">
        <code className="rp-copy-value" tabIndex={0}>
          {shown ?? "•".repeat(24)}
        </code>
        <Tooltip label={shown === undefined ? `Show ${inSentence(label)}` : `Hide ${inSentence(label)}`}>
          <ActionIcon
            size="sm"
            loading={isLoading}
            aria-label={shown === undefined ? `Show ${inSentence(label)}` : `Hide ${inSentence(label)}`}
            onClick={() => (shown === undefined ? void show() : setShown(undefined))}
          >
            <Icon name={shown === undefined ? "eye" : "eye-off"} size={14} />
          </ActionIcon>
        </Tooltip>
        {(shown ?? value) !== undefined && <CopyButton value={(shown ?? value)!} label={`Copy ${inSentence(label)}`} />}
      </Group>
    </div>
  );
}
