import { Button, Checkbox, Group, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Icon } from "../../../shared/icon.tsx";
import type { Area } from "./permissions.ts";

interface PickerProps {
  areas: readonly Area[];
  /** Ids of permission groups. */
  selected: ReadonlySet<string>;
  onChange: (selected: Set<string>) => void;
}

/** Read and Write last, so that they form columns. */
const WORDS = ["Run", "Read", "Write"];
const byWord = ([a]: [string, string], [b]: [string, string]) => WORDS.indexOf(a) - WORDS.indexOf(b);

/** Chooses permission groups by area. */
export function PermissionPicker({ areas, selected, onChange }: PickerProps) {
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const shown = areas.filter(({ name, category }) => `${name} ${category}`.toLowerCase().includes(words));
  const idsOf = (word?: string) =>
    areas.flatMap(({ grants }) =>
      [...grants].filter(([name]) => word === undefined || name === word).map(([, id]) => id),
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
            Read everything
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
            No permission contains “{search}”
          </Text>
        )}
        {shown.map(({ name, category, grants }, index) => (
          <div key={name}>
            {shown[index - 1]?.category !== category && <h3>{category}</h3>}
            <div className="rp-settings-area">
              <span>{name}</span>
              <Group gap="md">
                {[...grants].toSorted(byWord).map(([word, id]) => (
                  <Checkbox
                    key={id}
                    size="xs"
                    label={word}
                    aria-label={`${name} ${word}`}
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
