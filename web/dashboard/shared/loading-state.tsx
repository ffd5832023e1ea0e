import { Skeleton, Stack } from "@mantine/core";

/** A placeholder with the height of `rows` lines. */
export function LoadingState({ rows = 4, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <Stack gap="sm" role="status" aria-label={label} aria-busy="true">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={16} width={row === rows - 1 ? "60%" : "100%"} radius="sm" />
      ))}
    </Stack>
  );
}
