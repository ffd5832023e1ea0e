import { MantineProvider, type MantineColorScheme } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { queryClient } from "./api/query-client.ts";
import { router } from "./routes.tsx";
import { cssVariables, theme } from "./theme.ts";

const Notifications = lazy(() => import("./shared/notifications.tsx"));
const DEFAULT_SCHEME: MantineColorScheme = "auto";

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme={DEFAULT_SCHEME} cssVariablesResolver={cssVariables}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Suspense>
          <Notifications />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  );
}
