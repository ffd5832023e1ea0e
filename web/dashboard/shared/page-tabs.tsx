import { Tabs } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";

/**
 * Shows the pages of one resource as tabs. The first tab is at `base`, the others at `base/<value>`. `current`: the
 * selected tab.
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
  /** The tab at `base`; needed only if `tabs` does not contain it. Default: the first of `tabs`. */
  first?: Value;
  current: Value;
  children: ReactNode;
}) {
  const navigate = useNavigate();
  const strip = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = strip.current!;
    // Also reports the initial size.
    const observer = new ResizeObserver(() => showSelected(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, [current]);
  return (
    <Tabs
      value={current}
      keepMounted={false}
      onChange={(value) => void navigate({ to: value === first ? base : `${base}/${value}` })}
    >
      <div className="rp-page-tabs" ref={strip}>
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

/**
 * Scrolls the selected tab to the middle, without scrolling the page. In a narrow window, the tabs scroll horizontally.
 */
function showSelected(strip: HTMLElement): void {
  const tab = strip.querySelector<HTMLElement>('[aria-selected="true"]');
  if (tab !== null) strip.scrollLeft = tab.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
}
