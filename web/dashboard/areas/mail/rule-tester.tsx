import { Alert, Button, Group, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, type ResultOf } from "../../api/client.ts";
import { ErrorState } from "../../shared/error-state.tsx";
import { Section } from "../../shared/page.tsx";
import { capitalized } from "../../shared/text.ts";
import { useAction } from "../../shared/use-action.ts";
import type { RoutingZone } from "./queries.ts";
import { RuleName } from "./rule-name.tsx";

type Match = ResultOf<"GET", "/zones/{zone_id}/email/routing/match">;

const TONES = { forward: "good", worker: "good", drop: "neutral", reject: "bad", defer: "warning" } as const;

/** Finds the rule that matches an address; sends nothing. */
export function RuleTester({ zone, zoneId }: { zone: RoutingZone; zoneId: string }) {
  const [text, setText] = useState("");
  const match = useAction(
    (address: string) =>
      api.get("/zones/{zone_id}/email/routing/match", { path: { zone_id: zoneId }, query: { address } }),
    { silent: true },
  );
  return (
    <Section title="Test an address" description="Shows which rule matches it. No message is sent.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const address = text.trim();
          if (address !== "") match.mutate(address.includes("@") ? address : `${address}@${zone.name}`);
        }}
      >
        <Group gap="xs" align="end">
          <TextInput
            aria-label="Address to test"
            size="xs"
            placeholder={`hello@${zone.name}`}
            w={320}
            maw="100%"
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={match.isPending}>
            Test
          </Button>
        </Group>
      </form>
      <div role="status">{match.data !== undefined && <MatchResult zoneId={zoneId} match={match.data} />}</div>
      {match.error !== null && <ErrorState error={match.error} />}
    </Section>
  );
}

function MatchResult({
  zoneId,
  match: { address, action, value, explanation, rule },
}: {
  zoneId: string;
  match: Match;
}) {
  return (
    <Alert
      variant="light"
      mt="sm"
      className="rp-alert"
      data-tone={TONES[action]}
      title={`${address}: ${capitalized(action)}`}
    >
      <Text fz="sm">{explanation}</Text>
      {value.length > 0 && <Text fz="sm">Target: {value.join(", ")}</Text>}
      {/* Null if no rule matches. */}
      {(rule as typeof rule | null) !== null && (
        <Text fz="sm">
          Rule: <RuleName zoneId={zoneId} rule={rule} />
        </Text>
      )}
    </Alert>
  );
}
