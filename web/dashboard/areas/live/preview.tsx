import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { liveKeys, nameOf, playerOf, statusQuery, type LiveInput } from "./queries.ts";

/** The broadcast in the server's own player. */
export function Preview({ input, account }: { input: LiveInput; account: string }) {
  const { data: status } = useQuery(statusQuery(account, input.uid));
  const isSigned = input.recording.requireSignedURLs;
  const { data: token, error } = useQuery({
    queryKey: [...liveKeys.input(account, input.uid), "token"],
    queryFn: async () =>
      (
        await api.post("/accounts/{account_id}/stream/{identifier}/token", {
          path: { account_id: account, identifier: input.uid },
          body: { exp: Math.floor(Date.now() / 1000) + 3600 },
        })
      ).token,
    enabled: isSigned,
    staleTime: 1_800_000,
  });
  if (status === undefined) return <LoadingState rows={6} />;
  if (!status.live)
    return (
      <EmptyState icon="broadcast" title="Offline">
        The preview starts when an encoder connects.
      </EmptyState>
    );
  if (error !== null) return <ErrorState error={error} title="Could not sign a URL for the preview" />;
  if (isSigned && token === undefined) return <LoadingState rows={6} />;
  const player = isSigned ? playerOf(input).replace(`/${input.uid}/`, `/${token}/`) : playerOf(input);
  return (
    <iframe
      className="rp-live-player"
      title={`Preview of ${nameOf(input)}`}
      src={`${player}?muted=true&autoplay=true`}
      allow="autoplay; fullscreen; picture-in-picture; encrypted-media"
      allowFullScreen
    />
  );
}
