import { Box, MantineProvider } from "@mantine/core";
import { ErrorState } from "../shared/error-state.tsx";
import { cssVariables, theme } from "../theme.ts";

/** Shown if the server does not respond when the application starts. */
export function StartError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={cssVariables}>
      <Box component="main" p="xl" maw="46rem" mx="auto">
        <ErrorState error={error} title="The dashboard cannot start" onRetry={onRetry} />
      </Box>
    </MantineProvider>
  );
}
