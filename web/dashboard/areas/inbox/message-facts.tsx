import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../api/account.ts";
import { CopyField } from "../../shared/copy.tsx";
import { Bytes, formatTime } from "../../shared/format.tsx";
import { KeyValue } from "../../shared/key-value.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge, type Tone } from "../../shared/status-badge.tsx";
import { kindLabel, MessageKind, MessageStatus, senderOf, subjectOf } from "./labels.tsx";
import { messageQuery, type Message, type MessageDetails } from "./queries.ts";

type Delivery = Message["deliveries"][number];

/** The envelope of a message, the result of the worker, and the messages that belong to it. */
export function MessageSummary({ message }: { message: MessageDetails }) {
  const { authentication } = message;
  return (
    <Stack gap="md">
      {message.deliveries.length > 0 && (
        <Section title="Outcome">
          <ul className="rp-inbox-items">
            {message.deliveries.map((delivery, index) => (
              <li key={index}>
                <DeliveryResult delivery={delivery} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {message.parent_id !== null && <Cause id={message.parent_id} />}
      {message.caused.length > 0 && (
        <Section title="Resulting messages">
          <RelatedMessages messages={message.caused} />
        </Section>
      )}
      <Section title="Envelope">
        <KeyValue
          items={[
            ["Sender", senderOf(message)],
            ["Recipients", message.to.join(", ")],
            ["Worker", message.worker],
            [message.kind === "received" ? "Received" : kindLabel(message.kind), formatTime(message.created_on)],
            ["Size", <Bytes key="size" value={message.size} />],
            ["SPF", authentication?.spf],
            ["DKIM", authentication?.dkim],
            ["DMARC", authentication?.dmarc],
          ]}
        />
      </Section>
      {message.message_id !== null && <CopyField label="Message-ID" value={message.message_id} />}
    </Stack>
  );
}

function DeliveryResult({ delivery }: { delivery: Delivery }) {
  const { to, worker, rejected, exception, reply } = delivery;
  const [label, tone] = resultOf(delivery);
  return (
    <>
      <Text fz="sm">{to}</Text>
      <Text fz="sm" component="div">
        {worker !== null && <span className="rp-dimmed">{worker} </span>}
        <StatusBadge tone={tone}>{label}</StatusBadge>
      </Text>
      {rejected !== null && <p className="rp-inbox-reason">{rejected}</p>}
      {exception !== null && <p className="rp-inbox-reason rp-mono">{exception}</p>}
      {reply !== null && <p className="rp-inbox-reason rp-mono rp-dimmed">{reply}</p>}
    </>
  );
}

function resultOf({ outcome, rejected, worker, reply }: Delivery): readonly [label: string, tone: Tone] {
  if (rejected !== null) return ["Rejected", "warning"];
  if (outcome === null) return worker === null && reply !== null ? ["Not accepted", "bad"] : ["Running", "info"];
  return outcome === "ok" ? ["Succeeded", "good"] : [`Failed: ${outcome}`, "bad"];
}

/** The received message that caused this one; it may be deleted. */
function Cause({ id }: { id: string }) {
  const account = useAccount();
  const { data: cause, isError } = useQuery(messageQuery(account.id, id));
  return (
    <Section title="Caused by">
      {cause === undefined ? (
        <Text fz="sm" c="dimmed">
          {isError ? "The received message has been deleted." : "Loading…"}
        </Text>
      ) : (
        <RelatedMessages messages={[cause]} />
      )}
    </Section>
  );
}

function RelatedMessages({ messages }: { messages: readonly Message[] }) {
  return (
    <ul className="rp-inbox-items">
      {messages.map((message) => (
        <li key={message.id}>
          <Anchor renderRoot={(props) => <Link to={`/inbox/${message.id}`} {...props} />} fz="sm">
            {subjectOf(message)}
          </Anchor>
          <Text fz="sm" component="div">
            <MessageKind kind={message.kind} /> <MessageStatus status={message.status} />{" "}
            <span className="rp-dimmed">to {message.to.join(", ")}</span>
          </Text>
        </li>
      ))}
    </ul>
  );
}
