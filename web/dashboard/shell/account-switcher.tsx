import { Menu, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { accountsQuery, selectAccount, useAccount } from "../api/account.ts";
import { Icon } from "../shared/icon.tsx";

/** The current account; a menu if the user has several. */
export default function AccountSwitcher() {
  const account = useAccount();
  const { data: accounts = [] } = useQuery(accountsQuery);
  const navigate = useNavigate();
  if (accounts.length < 2)
    return (
      <div className="rp-account" title={account.id}>
        {account.name}
      </div>
    );
  return (
    <Menu position="bottom-start" width="target">
      <Menu.Target>
        <UnstyledButton className="rp-account" aria-label={`Account ${account.name}, switch account`}>
          <span>{account.name}</span>
          <Icon name="chevron-down" size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {accounts.map(({ id, name }) => (
          <Menu.Item
            key={id}
            leftSection={id === account.id ? <Icon name="check" size={14} /> : <span className="rp-icon-gap" />}
            onClick={() => {
              selectAccount(id);
              // The current page may show a resource that the selected account does not have.
              void navigate({ to: "/" });
            }}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
