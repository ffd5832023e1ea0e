import { Menu, UnstyledButton } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { versionQuery } from "../api/version.ts";
import { signOut } from "../session/sign-out.ts";
import { Icon } from "../shared/icon.tsx";

const userQuery = queryOptions({
  queryKey: ["user"],
  queryFn: () => api.get("/user"),
  staleTime: 300_000,
  retry: false,
});

export function UserMenu() {
  // A token may lack the permission to read the user.
  const { data: user } = useQuery(userQuery);
  const { data: version = "" } = useQuery(versionQuery);
  const name = user?.email ?? "API token";
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <UnstyledButton className="rp-user" aria-label={`Signed in as ${name}`}>
          <Icon name="user" />
          <span>{name}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Reelpost {version}</Menu.Label>
        <Menu.Item
          component="a"
          href="/docs"
          target="_blank"
          rel="noreferrer"
          leftSection={<Icon name="file" size={14} />}
        >
          Documentation
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="sign-out" size={14} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
