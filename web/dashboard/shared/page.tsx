import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, useEffect, type ReactNode } from "react";

interface PageProps {
  title: string;
  /** Shown next to the title, for example a StatusBadge. */
  badge?: ReactNode;
  /** One sentence below the title. */
  description?: ReactNode;
  /** Pages above this one. */
  parents?: readonly { label: string; to: string }[];
  /** Buttons; the most important one last. */
  actions?: ReactNode;
  /** Default: wide enough for tables. `narrow` for forms and text. */
  width?: "full" | "narrow";
  children: ReactNode;
}

/** The frame of every page: its heading, its actions and its width. Also sets the title of the tab. */
export function Page({ title, badge, description, parents = [], actions, width = "full", children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Reelpost`;
  }, [title]);
  return (
    <Stack gap="md" className="rp-page" data-width={width}>
      <div>
        {parents.length > 0 && (
          <nav aria-label="Breadcrumb" className="rp-breadcrumb">
            {parents.map(({ label, to }) => (
              <Fragment key={to}>
                <Anchor renderRoot={(props) => <Link to={to} {...props} />} c="dimmed" fz="sm">
                  {label}
                </Anchor>
                <span aria-hidden="true"> / </span>
              </Fragment>
            ))}
          </nav>
        )}
        <Group justify="space-between" align="center" gap="sm" className="rp-page-head">
          <Group gap="sm" className="rp-page-title">
            <Title order={1}>{title}</Title>
            {badge}
          </Group>
          {actions !== undefined && <Group gap="xs">{actions}</Group>}
        </Group>
        {description !== undefined && (
          <Text c="dimmed" fz="sm" mt={4} maw="46rem">
            {description}
          </Text>
        )}
      </div>
      {children}
    </Stack>
  );
}

/** A section of a page, with a heading. */
export function Section({
  title,
  description,
  actions,
  children,
}: {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="rp-section" aria-label={title}>
      <Group justify="space-between" align="end" gap="sm" mb="xs">
        <div>
          <Title order={2}>{title}</Title>
          {description !== undefined && (
            <Text c="dimmed" fz="sm" mt={2} maw="46rem">
              {description}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </section>
  );
}
