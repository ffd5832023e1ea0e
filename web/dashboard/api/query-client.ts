import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./errors.ts";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Live data arrives as events; see shared/use-live-events.ts.
      refetchOnWindowFocus: false,
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});
