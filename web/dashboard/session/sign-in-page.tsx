import { Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isDev } from "../api/app-info.ts";
import { apiUrl, readError } from "../api/client.ts";
import { ErrorState } from "../shared/error-state.tsx";
import { Mark } from "../shared/icon.tsx";
import { sessionEndReason, sessionSecret, startSession } from "./session.ts";

export default function SignInPage() {
  const navigate = useNavigate();
  const { from }: { from?: unknown } = useSearch({ strict: false });

  useEffect(() => {
    document.title = "Sign in · Reelpost";
    if (isDev() || sessionSecret() !== undefined) void navigate({ to: "/", replace: true });
  }, [navigate]);

  function start(secret: string) {
    startSession(secret);
    // Only paths of the dashboard: `//host` would be another origin.
    void navigate({ to: typeof from === "string" && /^\/(?![/\\])/.test(from) ? from : "/", replace: true });
  }

  return (
    <main className="rp-sign-in">
      <Stack gap="lg">
        <div className="rp-sign-in-head">
          <Mark size={36} />
          <Title order={1}>Sign in to Reelpost</Title>
          {sessionEndReason() === "expired" && (
            <Text c="dimmed" fz="sm" role="status">
              Your session has ended. Sign in again to continue.
            </Text>
          )}
        </div>
        <TokenForm onSignedIn={start} />
      </Stack>
    </main>
  );
}

/** An API token is a session of its own: it ends in this browser with signing out, and stays valid. */
function TokenForm({ onSignedIn }: { onSignedIn: (secret: string) => void }) {
  const [token, setToken] = useState("");
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();

  async function submit() {
    setRunning(true);
    setError(undefined);
    try {
      const response = await fetch(apiUrl("/user/tokens/verify"), {
        headers: { authorization: `Bearer ${token.trim()}` },
        credentials: "omit",
        cache: "no-store",
      });
      if (!response.ok) throw await readError(response);
      onSignedIn(token.trim());
    } catch (err) {
      setError(err);
    } finally {
      setRunning(false);
    }
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack gap="sm">
        <PasswordInput
          label="API token"
          description="The first start of the server prints one."
          value={token}
          autoComplete="off"
          required
          withAsterisk={false}
          autoFocus
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        {error !== undefined && <ErrorState error={error} title="The token was not accepted" />}
        <Button type="submit" size="sm" loading={isRunning} disabled={token.trim() === ""} fullWidth>
          Use an API token
        </Button>
      </Stack>
    </form>
  );
}
