import { Alert, Button, Stack, Text } from "@mantine/core";
import { toApiError } from "../api/errors.ts";
import { Icon } from "./icon.tsx";

/** Shows an error with its message and suggested fix. `title` says what failed. */
export function ErrorState({ error, title, onRetry }: { error: unknown; title?: string; onRetry?: () => void }) {
  const { message, fix, code, requestId } = toApiError(error);
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      className="rp-alert"
      data-tone="bad"
      icon={<Icon name="warning" size={18} />}
      title={title ?? message}
    >
      <Stack gap={6} align="start">
        {title !== undefined && <Text fz="sm">{message}</Text>}
        {fix !== undefined && <Text fz="sm">{fix}</Text>}
        {requestId !== undefined && (
          <Text fz="xs" c="dimmed">
            {code === 0 ? "" : `Code ${code}, `}request ID {requestId}
          </Text>
        )}
        {onRetry !== undefined && (
          <Button variant="default" mt={4} onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
