import { PasswordInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { twoFactorQuery } from "../../../api/account.ts";
import { ownSessionsQuery, passwordQuery } from "../queries.ts";

/** A more recent session needs no confirmation. One minute below the server's limit, to leave time for the dialog. */
const RECENT_MS = 14 * 60_000;

interface Confirmation {
  /** Inputs for the form; nothing for a recent session. */
  fields: ReactNode;
  /** Properties for the body of the request. */
  body: { current_password?: string; code?: string };
  reset(): void;
}

/**
 * Proof of identity that the server requires before it changes sign-in settings: the password if the session is older,
 * and the password and a two-factor code if the request uses an API token.
 */
export function useConfirmation(): Confirmation {
  const { data: sessions } = useQuery(ownSessionsQuery);
  const { data: stored } = useQuery(passwordQuery);
  const { data: twoFactor } = useQuery(twoFactorQuery);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");

  const own = sessions?.find(({ current }) => current);
  const isRecent = own !== undefined && Date.now() - Date.parse(own.created_on) < RECENT_MS;
  const needsPassword = sessions !== undefined && !isRecent && stored?.enabled === true;
  const needsCode = needsPassword && own === undefined && twoFactor?.enabled === true;
  return {
    fields: (
      <>
        {needsPassword && (
          <PasswordInput
            label="Current password"
            value={password}
            autoComplete="current-password"
            onChange={({ currentTarget }) => setPassword(currentTarget.value)}
          />
        )}
        {needsCode && (
          <TextInput
            label="Code from your authenticator app"
            value={code}
            autoComplete="one-time-code"
            inputMode="numeric"
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
          />
        )}
      </>
    ),
    body: {
      ...(needsPassword && password !== "" && { current_password: password }),
      ...(needsCode && code !== "" && { code: code.trim() }),
    },
    reset() {
      setPassword("");
      setCode("");
    },
  };
}
