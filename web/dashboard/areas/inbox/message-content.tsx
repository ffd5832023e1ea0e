import { Group, SegmentedControl, Stack, Switch, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { CodeView } from "../../shared/code-view.tsx";
import { EmptyState } from "../../shared/empty-state.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { HtmlFrame } from "../../shared/html-frame.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { usePageState } from "../../shared/use-list.ts";
import { AttachmentList } from "./attachment-list.tsx";
import { LinkList } from "./link-list.tsx";
import { inboxKeys, MESSAGE, type Content, type MessageDetails, type MessagePath } from "./queries.ts";
import { SourceView } from "./source-view.tsx";

const MOBILE_WIDTH = 375;

/** The content of a message, one part of it at a time. The open tab is in the URL. */
export function MessageContent({ message }: { message: MessageDetails }) {
  const account = useAccount();
  const { content } = message;
  const path = { account_id: account.id, message_id: message.id };
  const tabs = tabsOf(content);
  const [{ tab }, change] = usePageState({ tab: "" });
  const shown = tabs.find(({ value }) => value === tab)?.value ?? tabs[0]!.value;
  return (
    <Stack gap="md" miw={0}>
      {content === null ? (
        <Text fz="sm">The message is malformed. Its source is shown as it was received.</Text>
      ) : (
        <Addresses content={content} />
      )}
      <Tabs value={shown} onChange={(value) => change({ tab: value === tabs[0]!.value ? "" : value! })}>
        <Tabs.List>
          {tabs.map(({ value, label, count }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
              {count !== undefined && <span className="rp-dimmed"> {count}</span>}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={shown} pt="md">
          {shown === "html" && <HtmlView path={path} />}
          {shown === "text" && <CodeView label="Text" text={content!.text!} maxHeight="none" wrap />}
          {shown === "headers" && (
            <KeyValue
              items={content!.headers.map(({ name, value }) => [
                name,
                <span key={name} className="rp-mono">
                  {value}
                </span>,
              ])}
            />
          )}
          {shown === "source" && <SourceView path={path} />}
          {shown === "attachments" && <AttachmentList path={path} attachments={content!.attachments} />}
          {shown === "links" && <LinkList path={path} />}
          {shown === "empty" && <EmptyState icon="mail" title="The message has no text" />}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function tabsOf(content: Content | null): { value: string; label: string; count?: number }[] {
  const source = { value: "source", label: "Source" };
  if (content === null) return [source];
  const { html, text, attachments } = content;
  const isEmpty = html === null && (text === null || text === "");
  return [
    ...(isEmpty ? [{ value: "empty", label: "Text" }] : []),
    ...(html === null ? [] : [{ value: "html", label: "HTML" }]),
    ...(text === null || text === "" ? [] : [{ value: "text", label: "Text" }]),
    { value: "headers", label: "Headers" },
    source,
    ...(attachments.length === 0 ? [] : [{ value: "attachments", label: "Attachments", count: attachments.length }]),
    ...(isEmpty ? [] : [{ value: "links", label: "Links" }]),
  ];
}

function Addresses({ content }: { content: Content }) {
  const list = (addresses: Content["from"]) =>
    addresses.map(({ name, address }) => (name === "" ? address : `${name} <${address}>`)).join(", ");
  return (
    <KeyValue
      items={[
        ["From", list(content.from)],
        ["To", list(content.to)],
        ["Cc", list(content.cc)],
        ["Reply-To", list(content.reply_to)],
      ]}
    />
  );
}

function HtmlView({ path }: { path: MessagePath }) {
  const [isMobile, setMobile] = useState(false);
  const [remote, setRemote] = useState(false);
  const {
    data: html,
    error,
    refetch,
  } = useQuery({
    queryKey: [...inboxKeys.message(path.account_id, path.message_id), "html", remote],
    queryFn: async () => (await api.raw("GET", `${MESSAGE}/html`, { path: { ...path }, query: { remote } })).text(),
    staleTime: Infinity,
  });
  return (
    <div>
      <Group gap="md">
        <SegmentedControl
          aria-label="Width"
          size="xs"
          value={isMobile ? "mobile" : "desktop"}
          onChange={(value) => setMobile(value === "mobile")}
          data={[
            { value: "desktop", label: "Desktop" },
            { value: "mobile", label: "Mobile" },
          ]}
        />
        <Switch
          size="xs"
          label="Load remote content"
          checked={remote}
          onChange={({ currentTarget }) => setRemote(currentTarget.checked)}
        />
      </Group>
      <div className="rp-inbox-html" data-mobile={isMobile}>
        {html === undefined ? (
          error === null ? (
            <LoadingState />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          )
        ) : (
          <HtmlFrame html={html} title="HTML body" remote={remote} width={isMobile ? MOBILE_WIDTH : "100%"} />
        )}
      </div>
    </div>
  );
}
