import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { isDev } from "./api/app-info.ts";
import { accountsQuery, isSecondFactorRequired } from "./api/account.ts";
import { queryClient } from "./api/query-client.ts";
import type { AreaPages } from "./areas/area.ts";
import { dnsPages } from "./areas/dns/routes.tsx";
import { homePages } from "./areas/home/routes.tsx";
import { inboxPages } from "./areas/inbox/routes.tsx";
import { livePages } from "./areas/live/routes.tsx";
import { mailPages } from "./areas/mail/routes.tsx";
import { referencePages } from "./areas/reference/routes.tsx";
import { settingsPages } from "./areas/settings/routes.tsx";
import { storagePages } from "./areas/storage/routes.tsx";
import { streamPages } from "./areas/stream/routes.tsx";
import { workersPages } from "./areas/workers/routes.tsx";
import { sessionPages } from "./session/routes.tsx";
import { onSessionChange, sessionSecret } from "./session/session.ts";
import { PageError, PageNotFound, PagePending } from "./shell/page-states.tsx";
import { Shell } from "./shell/shell.tsx";

const AREAS: AreaPages = {
  ...homePages,
  ...mailPages,
  ...inboxPages,
  ...workersPages,
  ...streamPages,
  ...livePages,
  ...storagePages,
  ...dnsPages,
  ...settingsPages,
  ...referencePages,
};

const rootRoute = createRootRoute({ component: Outlet });

/** The page on which users set up a second factor. */
const OWN_ACCOUNT = "/settings/account";

/** Pages of a signed-in user. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "shell",
  component: Shell,
  // This component replaces the shell, and with it the landmarks.
  errorComponent: ({ error }) => (
    <main>
      <PageError error={error} />
    </main>
  ),
  async beforeLoad({ location }) {
    if (isDev()) return;
    if (sessionSecret() === undefined)
      throw redirect({ to: "/sign-in", search: location.href === "/" ? {} : { from: location.href } });
    if (location.pathname !== OWN_ACCOUNT && (await isSecondFactorRequired())) throw redirect({ to: OWN_ACCOUNT });
  },
  loader: () => queryClient.ensureQueryData(accountsQuery),
});

const notFoundRoute = createRoute({ getParentRoute: () => shellRoute, path: "$", component: PageNotFound });

const routesOf = (parent: typeof rootRoute | typeof shellRoute, pages: AreaPages) =>
  Object.entries(pages).map(([path, load]) =>
    createRoute({ getParentRoute: () => parent as typeof rootRoute, path, component: lazyRouteComponent(load) }),
  );

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    ...routesOf(rootRoute, sessionPages),
    shellRoute.addChildren([...routesOf(shellRoute, AREAS), notFoundRoute]),
  ]),
  defaultPreload: "intent",
  defaultPendingMs: 200,
  defaultPendingComponent: PagePending,
  defaultErrorComponent: PageError,
  defaultNotFoundComponent: PageNotFound,
  scrollRestoration: true,
});

/** All queries except those of the sign-in page, which is open when a session starts or ends. */
const ofSession = { predicate: ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== "sign-in" };

// Signing out, in this or another tab, or an expired session: the guard of the shell opens the sign-in page. The data
// of the session is removed when no page shows it any longer.
onSessionChange(() => {
  const isSignedOut = sessionSecret() === undefined;
  if (!isSignedOut) void queryClient.invalidateQueries(ofSession);
  void router.invalidate().then(() => {
    if (!isSignedOut) return;
    // Removing a query also cancels its request.
    queryClient.removeQueries(ofSession);
    queryClient.getMutationCache().clear();
  });
});
