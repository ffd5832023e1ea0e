import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { Icon } from "../shared/icon.tsx";
import { Brand, Sidebar } from "./sidebar.tsx";
import { useNavigationKeys } from "./use-navigation-keys.ts";

const CommandPalette = lazy(() => import("./command-palette.tsx"));
const Shortcuts = lazy(() => import("./shortcuts.tsx"));

/** The frame of all pages of a signed-in user: navigation, command palette and shortcuts. */
export function Shell() {
  const [isMenuOpen, menu] = useDisclosure(false);
  const [palette, setPalette] = useState<"unloaded" | "open" | "closed">("unloaded");
  const [areShortcutsOpen, shortcuts] = useDisclosure(false);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });

  useEffect(menu.close, [pathname, menu.close]);
  useHotkeys([
    ["mod+K", () => setPalette("open")],
    ["shift+?", shortcuts.open],
    ["?", shortcuts.open],
    ["/", () => document.querySelector<HTMLInputElement>("[data-search-field]")?.focus()],
  ]);
  useNavigationKeys();

  return (
    <div className="rp-shell">
      <a className="rp-skip" href="#content">
        Skip to content
      </a>
      <header className="rp-header">
        <button
          type="button"
          className="rp-menu-button"
          onClick={menu.toggle}
          aria-label={isMenuOpen ? "Close the navigation" : "Open the navigation"}
          aria-expanded={isMenuOpen}
          aria-controls="navigation"
        >
          <Icon name={isMenuOpen ? "x" : "menu"} size={20} />
        </button>
        <Brand />
      </header>
      <nav
        id="navigation"
        className="rp-navbar"
        aria-label="Main"
        data-open={isMenuOpen}
        onKeyDown={({ key }) => key === "Escape" && menu.close()}
      >
        <Sidebar onSearch={() => setPalette("open")} onShortcuts={shortcuts.open} />
      </nav>
      <main id="content" tabIndex={-1} className="rp-main">
        <Outlet />
      </main>
      <Suspense>
        {palette !== "unloaded" && (
          <CommandPalette
            opened={palette === "open"}
            onClose={() => setPalette("closed")}
            onShortcuts={shortcuts.open}
          />
        )}
        {areShortcutsOpen && <Shortcuts onClose={shortcuts.close} />}
      </Suspense>
    </div>
  );
}
