import { Tabs } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";

/**
 * The pages of one resource as tabs. The first tab is at `base`, the others at `base/<value>`. `current`: the tab whose page
 * is the content.
 */
export function PageTabs<Value extends string>({
  base,
  tabs,
  first = tabs[0]![0],
  current,
  children,
}: {
  base: string;
  tabs: readonly (readonly [value: Value, label: string])[];
  /** The tab at `base`, if it is not shown. */
  first?: Value;
  current: Value;
  children: ReactNode;
}) {
  const navigate = useNavigate();
  return (
    <Tabs
      value={current}
      keepMounted={false}
      onChange={(value) => void navigate({ to: value === first ? base : `${base}/${value}` })}
    >
      <div className="rp-page-tabs">
        <Tabs.List>
          {tabs.map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </div>
      <Tabs.Panel value={current} pt="md">
        {children}
      </Tabs.Panel>
    </Tabs>
  );
}
