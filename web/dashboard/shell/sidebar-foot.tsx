import { ActionIcon, Tooltip } from "@mantine/core";
import { appInfo, isDev } from "../api/app-info.ts";
import { Icon } from "../shared/icon.tsx";
import { SchemeToggle } from "./scheme-toggle.tsx";
import { UserMenu } from "./user-menu.tsx";

export default function SidebarFoot({ onShortcuts }: { onShortcuts: () => void }) {
  return (
    <>
      {isDev() ? <span className="rp-version">{appInfo().version}</span> : <UserMenu />}
      <SchemeToggle />
      <Tooltip label="Keyboard shortcuts">
        <ActionIcon aria-label="Keyboard shortcuts" onClick={onShortcuts}>
          <Icon name="keyboard" />
        </ActionIcon>
      </Tooltip>
    </>
  );
}
