import { Spotlight, spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { isDev } from "../api/app-info.ts";
import { navigation } from "../navigation.ts";
import { signOut } from "../session/sign-out.ts";
import { Icon, type IconName } from "../shared/icon.tsx";

/** Searches pages and commands. */
export default function CommandPalette({
  opened,
  onClose,
  onShortcuts,
}: {
  opened: boolean;
  onClose: () => void;
  onShortcuts: () => void;
}) {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();

  useEffect(() => {
    if (opened) spotlight.open();
  }, [opened]);

  const action = (label: string, icon: IconName, onClick: () => void, more: Partial<SpotlightActionData> = {}) => ({
    id: label,
    label,
    leftSection: <Icon name={icon} />,
    onClick,
    ...more,
  });
  const pages = navigation().flatMap(({ label, path, icon, pages: areaPages = [], keywords = [] }) => [
    action(label, icon, () => void navigate({ to: path }), { keywords: [...keywords] }),
    ...areaPages
      .filter((page) => page.path !== path)
      .map((page) =>
        action(`${label}: ${page.label}`, icon, () => void navigate({ to: page.path }), { keywords: [...keywords] }),
      ),
  ]);
  const commands = [
    action("Use the light color scheme", "sun", () => setColorScheme("light"), { keywords: ["theme", "color"] }),
    action("Use the dark color scheme", "moon", () => setColorScheme("dark"), { keywords: ["theme", "color"] }),
    action("Show keyboard shortcuts", "keyboard", onShortcuts),
    action("Open the documentation", "file", () => window.open("/docs", "_blank", "noreferrer"), {
      keywords: ["help"],
    }),
    ...(isDev() ? [] : [action("Sign out", "sign-out", () => void signOut())]),
  ];

  return (
    <Spotlight
      actions={[
        { group: "Pages", actions: pages },
        { group: "Commands", actions: commands },
      ]}
      shortcut={null}
      attributes={{ content: { "aria-label": "Command palette" } }}
      onSpotlightClose={onClose}
      overlayProps={{ blur: 0 }}
      scrollable
      maxHeight="60dvh"
      nothingFound="Nothing found"
      searchProps={{
        leftSection: <Icon name="search" />,
        placeholder: "Search pages and commands",
        "aria-label": "Search pages and commands",
      }}
    />
  );
}
