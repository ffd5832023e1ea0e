import { Button, Checkbox, Group, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Icon } from "../../../shared/icon.tsx";
import type { Area } from "./permissions.ts";

interface PickerProps {
  areas: readonly Area[];
  /** IDs of permission groups. */
  selected: ReadonlySet<string>;
  onChange: (selected: Set<string>) => void;
}

/** Read and Write last, so that they form columns. */
const ACCESS_LEVELS = ["Run", "Read", "Write"];
const byAccessLevel = ([a]: [string, string], [b]: [string, string]) =>
  ACCESS_LEVELS.indexOf(a) - ACCESS_LEVELS.indexOf(b);

/** Chooses permission groups by area. */
export function PermissionPicker({ areas, selected, onChange }: PickerProps) {
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const shown = areas.filter(({ name, category }) => `${name} ${category}`.toLowerCase().includes(words));
  const idsOf = (level?: string) =>
    areas.flatMap(({ groupIdsByLevel }) =>
      [...groupIdsByLevel].filter(([name]) => level === undefined || name === level).map(([, id]) => id),
    );
  const toggle = (id: string, isOn: boolean) => {
    const changed = new Set(selected);
    if (isOn) changed.add(id);
    else changed.delete(id);
    onChange(changed);
  };

  return (
    <fieldset className="rp-settings-permissions">
      <legend>Permissions</legend>
      <Group gap="xs" justify="space-between" mb="xs">
        <TextInput
          aria-label="Search permissions"
          placeholder="Search permissions"
          size="xs"
          type="search"
          leftSection={<Icon name="search" size={14} />}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <Group gap={4}>
          <Button variant="default" onClick={() => onChange(new Set([...selected, ...idsOf("Read")]))}>
            Select all read permissions
          </Button>
          <Button variant="default" onClick={() => onChange(new Set(idsOf()))}>
            Select all
          </Button>
          <Button variant="default" disabled={selected.size === 0} onClick={() => onChange(new Set())}>
            Clear
          </Button>
        </Group>
      </Group>
      <div className="rp-settings-areas" tabIndex={0} role="group" aria-label="Permissions by area">
        {shown.length === 0 && (
          <Text fz="sm" c="dimmed" p="sm">
            No permissions match “{search}”
          </Text>
        )}
        {shown.map(({ name, category, groupIdsByLevel }, index) => (
          <div key={name}>
            {shown[index - 1]?.category !== category && <h3>{category}</h3>}
            <div className="rp-settings-area">
              <span>{name}</span>
              <Group gap="md">
                {[...groupIdsByLevel].toSorted(byAccessLevel).map(([level, id]) => (
                  <Checkbox
                    key={id}
                    size="xs"
                    label={level}
                    aria-label={`${name} ${level}`}
                    checked={selected.has(id)}
                    onChange={({ currentTarget }) => toggle(id, currentTarget.checked)}
                  />
                ))}
              </Group>
            </div>
          </div>
        ))}
      </div>
    </fieldset>
  );
}
