import { ActionIcon, Button, Checkbox, Group, Select, Stack, TagsInput, Text, Tooltip } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { CopyField } from "../../shared/copy.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { nameOf, urlsOf, videoPath, type Video } from "./queries.ts";

type RuleType = "any" | "ip.src" | "ip.geoip.country";
interface Rule {
  id: number;
  type: RuleType;
  action: "allow" | "block";
  values: string[];
}

const PERIODS = [
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
];
const TYPES = [
  { value: "ip.geoip.country", label: "Countries" },
  { value: "ip.src", label: "IP addresses" },
  { value: "any", label: "Everyone" },
];
let nextId = 0;

/** Signs a URL with access rules, and plays it. */
export function SignedUrlForm({ video, account }: { video: Video; account: string }) {
  const [period, setPeriod] = useState("3600");
  const [isDownloadable, setDownloadable] = useState(false);
  const [rules, setRules] = useState<readonly Rule[]>([]);
  const change = (id: number, more: Partial<Rule>) =>
    setRules(rules.map((rule) => (rule.id === id ? { ...rule, ...more } : rule)));
  const sign = useAction(
    () =>
      api.post("/accounts/{account_id}/stream/{identifier}/token", {
        path: videoPath(account, video.uid),
        body: {
          exp: Math.floor(Date.now() / 1000) + Number(period),
          downloadable: isDownloadable,
          accessRules: rules.map(({ type, action, values }) => ({
            type,
            action,
            ...(type === "ip.src" && { ip: values }),
            ...(type === "ip.geoip.country" && { country: values }),
          })),
        },
      }),
    { failed: "Could not sign the URL" },
  );
  const urls = sign.data === undefined ? undefined : urlsOf(video, sign.data.token);

  return (
    <Section
      title="Signed URL"
      description="A signed token replaces the video ID in the URL. The first matching rule applies."
    >
      <Stack gap="sm">
        <Group align="end">
          <Select label="Valid for" w={140} data={PERIODS} value={period} onChange={(value) => setPeriod(value!)} />
          <Checkbox
            label="Allow downloads"
            mb={8}
            checked={isDownloadable}
            onChange={({ currentTarget }) => setDownloadable(currentTarget.checked)}
          />
        </Group>
        {rules.map(({ id, type, action, values }, index) => (
          <Group key={id} gap="xs" align="end" className="rp-stream-rule" role="group" aria-label={`Rule ${index + 1}`}>
            <Select
              aria-label="Action"
              w={100}
              data={[
                { value: "allow", label: "Allow" },
                { value: "block", label: "Block" },
              ]}
              value={action}
              onChange={(value) => change(id, { action: value as "allow" })}
            />
            <Select
              aria-label="Viewers"
              w={150}
              data={TYPES}
              value={type}
              onChange={(value) => change(id, { type: value as RuleType, values: [] })}
            />
            {type !== "any" && (
              <TagsInput
                aria-label={type === "ip.src" ? "IP addresses or networks" : "Country codes"}
                placeholder={values.length > 0 ? "" : type === "ip.src" ? "192.0.2.0/24" : "DE, FR"}
                flex={1}
                miw={140}
                value={values}
                onChange={(changed) => change(id, { values: changed })}
              />
            )}
            <Tooltip label={`Delete rule ${index + 1}`}>
              <ActionIcon
                aria-label={`Delete rule ${index + 1}`}
                onClick={() => setRules(rules.filter((rule) => rule.id !== id))}
              >
                <Icon name="x" size={14} />
              </ActionIcon>
            </Tooltip>
          </Group>
        ))}
        <Group>
          <Button
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            onClick={() =>
              setRules([...rules, { id: nextId++, type: "ip.geoip.country", action: "allow", values: [] }])
            }
          >
            Add rule
          </Button>
          <Button loading={sign.isPending} onClick={() => sign.mutate()}>
            Sign URL
          </Button>
        </Group>
        {urls !== undefined && (
          <Stack gap="xs">
            <CopyField label="Watch page" value={urls.watch} />
            <CopyField label="Player" value={urls.player} />
            <CopyField label="HLS manifest" value={urls.hls} />
            <CopyField label="Token" value={sign.data!.token} />
            {video.readyToStream ? (
              <iframe
                className="rp-stream-player"
                title={`Player for ${nameOf(video)} with the signed URL`}
                src={urls.player}
                style={{ aspectRatio: "16 / 9" }}
                allow="autoplay; fullscreen; picture-in-picture"
              />
            ) : (
              <Text fz="sm" c="dimmed">
                The video is not playable yet.
              </Text>
            )}
          </Stack>
        )}
      </Stack>
    </Section>
  );
}
