import { Stack, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";
import { Logo } from "../shared/icon.tsx";

/** The frame of the pages before the sign-in. */
export function SignInFrame({ title, note, children }: { title: string; note?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Reelpost`;
  }, [title]);
  return (
    <main className="rp-sign-in">
      <Stack gap="lg">
        <div className="rp-sign-in-head">
          <Logo size={36} />
          <Title order={1}>{title}</Title>
          {note !== undefined && (
            <Text c="dimmed" fz="sm" role="status">
              {note}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </main>
  );
}
