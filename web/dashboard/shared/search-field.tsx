import { CloseButton, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { Icon } from "./icon.tsx";

/** Server-side search: debounces `onChange`. `/` focuses the first search field on the page. */
export function SearchField({
  label,
  value,
  onChange,
  width = 260,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  width?: number | string;
}) {
  const [text, setText] = useState(value);
  const debouncedChange = useDebouncedCallback(onChange, 250);
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      type="search"
      size="xs"
      w={width}
      maw="100%"
      value={text}
      data-search-field
      leftSection={<Icon name="search" size={14} />}
      rightSection={
        text !== "" && (
          <CloseButton
            size="xs"
            aria-label="Clear search"
            onClick={() => {
              setText("");
              onChange("");
            }}
          />
        )
      }
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        debouncedChange(currentTarget.value);
      }}
    />
  );
}
