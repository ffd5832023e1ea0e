import { Kbd, UnstyledButton } from "@mantine/core";
import { Link, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, type ComponentType } from "react";
import { useAccount } from "../api/account.ts";
import { isDev } from "../api/app-info.ts";
import type { LoadPage, NavEntry } from "../areas/area.ts";
import { navigation } from "../navigation.ts";
import { Icon, Logo } from "../shared/icon.tsx";
import { isMac } from "./platform.ts";

// Menus are not part of the first load; until they are loaded, their buttons do nothing.
const AccountSwitcher = lazy(() => import("./account-switcher.tsx"));
const SidebarFoot = lazy(() => import("./sidebar-foot.tsx"));

export function Brand() {
  return (
    <Link to="/" className="rp-brand">
      <Logo />
      <span>Reelpost</span>
      {isDev() && (
        <>
          {" "}
          <span className="rp-mode">dev</span>
        </>
      )}
      <span className="rp-visually-hidden">, start page</span>
    </Link>
  );
}

export function Sidebar({ onSearch, onShortcuts }: { onSearch: () => void; onShortcuts: () => void }) {
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const { name } = useAccount();
  return (
    <>
      <div className="rp-brand-row">
        <Brand />
      </div>
      {!isDev() && (
        <Suspense fallback={<div className="rp-account">{name}</div>}>
          <AccountSwitcher />
        </Suspense>
      )}
      <UnstyledButton className="rp-search" onClick={onSearch}>
        <Icon name="search" size={14} />
        <span>Search</span>
        <Kbd size="xs">{isMac ? "⌘K" : "Ctrl K"}</Kbd>
      </UnstyledButton>
      <ul className="rp-nav rp-nav-scroll">
        {navigation().map((entry) => (
          <Entry key={entry.path} entry={entry} pathname={pathname} />
        ))}
      </ul>
      <div className="rp-nav-foot">
        <Suspense>
          <SidebarFoot onShortcuts={onShortcuts} />
        </Suspense>
      </div>
    </>
  );
}

const counts = new Map<LoadPage, ComponentType>();
/** Loads the component that shows an entry's number, which is not in the initial bundle. */
function countOf(load: LoadPage): ComponentType {
  const known = counts.get(load) ?? lazy(load);
  counts.set(load, known);
  return known;
}

const isWithin = (pathname: string, path: string) =>
  pathname === path || (path !== "/" && pathname.startsWith(`${path}/`));

function Entry({ entry: { label, path, icon, count, pages = [] }, pathname }: { entry: NavEntry; pathname: string }) {
  const Count = count && countOf(count);
  const isOpen = isWithin(pathname, path) || pages.some((page) => isWithin(pathname, page.path));
  // The longest path that contains the current page.
  const current = pages
    .filter((page) => isWithin(pathname, page.path))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return (
    <li>
      <Link
        to={path}
        className="rp-nav-link"
        data-open={isOpen}
        aria-current={isOpen && current === undefined ? "page" : undefined}
      >
        <Icon name={icon} />
        <span>{label}</span>
        {Count !== undefined && (
          <Suspense>
            <Count />
          </Suspense>
        )}
      </Link>
      {isOpen && pages.length > 0 && (
        <ul>
          {pages.map((page) => (
            <li key={page.path}>
              <Link
                to={page.path}
                className="rp-nav-sub"
                // The router would also mark the page whose path is a prefix of the current one.
                activeOptions={{ exact: true }}
                aria-current={page === current ? "page" : undefined}
              >
                {page.label}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
