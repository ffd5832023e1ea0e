import { Alert, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { ErrorState } from "../../shared/error-state.tsx";
import { Icon } from "../../shared/icon.tsx";
import { Section } from "../../shared/page.tsx";
import { StatusBadge } from "../../shared/status-badge.tsx";
import { InputFrame } from "./input-frame.tsx";
import type { LiveInput } from "./queries.ts";
import { broadcast, type Broadcast } from "./whip.ts";

export default function BroadcastPage() {
  return <InputFrame tab="broadcast">{(input) => <BrowserBroadcast input={input} />}</InputFrame>;
}

type Source = "camera" | "screen";
type State = "idle" | "preview" | "connecting" | "live";

/** Sends the camera or the screen of this browser to the live input. */
function BrowserBroadcast({ input }: { input: LiveInput }) {
  const [source, setSource] = useState<Source>("camera");
  const [state, setState] = useState<State>("idle");
  const [error, setError] = useState<unknown>();
  const video = useRef<HTMLVideoElement>(null);
  const stream = useRef<MediaStream>(undefined);
  const session = useRef<Broadcast>(undefined);

  function close(): void {
    void session.current?.stop();
    session.current = undefined;
    for (const track of stream.current?.getTracks() ?? []) track.stop();
    stream.current = undefined;
    if (video.current !== null) video.current.srcObject = null;
  }
  useEffect(() => close, []);

  function end(problem?: unknown): void {
    close();
    setState("idle");
    setError(problem);
  }

  async function open(): Promise<void> {
    setError(undefined);
    try {
      stream.current = await capture(source);
      // The browser's own "Stop sharing" button ends the tracks.
      for (const track of stream.current.getTracks()) track.addEventListener("ended", () => end());
      video.current!.srcObject = stream.current;
      setState("preview");
    } catch (err) {
      end(readableError(err, source));
    }
  }

  async function start(): Promise<void> {
    setState("connecting");
    setError(undefined);
    try {
      session.current = await broadcast(input.webRTC.url, stream.current!, () =>
        end(new Error("The connection to the server was lost. Start the broadcast again.")),
      );
      setState("live");
    } catch (err) {
      setState("preview");
      setError(err);
    }
  }

  async function stop(): Promise<void> {
    await session.current?.stop();
    end();
  }

  return (
    <Section title="Go live from this browser">
      <Stack gap="sm" maw="48rem">
        {!input.enabled && (
          <Alert className="rp-alert" data-tone="warning" icon={<Icon name="warning" size={18} />}>
            The live input is disabled. Enable it first.
          </Alert>
        )}
        <Group>
          <SegmentedControl
            aria-label="Source"
            data={[
              { value: "camera", label: "Camera" },
              { value: "screen", label: "Screen" },
            ]}
            value={source}
            disabled={state !== "idle"}
            onChange={(value) => setSource(value as Source)}
          />
          {state === "live" && <StatusBadge tone="good">Live</StatusBadge>}
          {state === "connecting" && <StatusBadge tone="info">Connecting</StatusBadge>}
        </Group>
        <video
          ref={video}
          className="rp-live-player"
          aria-label="Broadcast preview"
          autoPlay
          muted
          playsInline
          data-empty={state === "idle"}
        />
        {error !== undefined && <ErrorState error={error} title="Could not broadcast" />}
        <Group>
          {state === "idle" && (
            <Button variant="default" onClick={() => void open()}>
              {source === "camera" ? "Turn on camera" : "Select screen"}
            </Button>
          )}
          {(state === "preview" || state === "connecting") && (
            <>
              <Button loading={state === "connecting"} disabled={!input.enabled} onClick={() => void start()}>
                Start broadcast
              </Button>
              <Button variant="default" onClick={() => end()}>
                {source === "camera" ? "Turn off camera" : "Stop sharing"}
              </Button>
            </>
          )}
          {state === "live" && (
            <Button color="red" onClick={() => void stop()}>
              End broadcast
            </Button>
          )}
        </Group>
        <Text fz="sm" c="dimmed">
          The broadcast ends when you leave this page.
        </Text>
      </Stack>
    </Section>
  );
}

async function capture(source: Source): Promise<MediaStream> {
  const { mediaDevices } = navigator as { mediaDevices?: MediaDevices };
  if (mediaDevices === undefined)
    throw new Error(
      "The browser allows camera and screen access only over HTTPS or on localhost. Open the dashboard at an https:// URL.",
    );
  return source === "camera"
    ? mediaDevices.getUserMedia({
        video: { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } },
        audio: true,
      })
    : mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 30 } }, audio: true });
}

function readableError(error: unknown, source: Source): unknown {
  if (!(error instanceof DOMException)) return error;
  const device = source === "camera" ? "camera and microphone" : "screen";
  if (error.name === "NotAllowedError")
    return new Error(`The browser is not allowed to use the ${device}. Allow access, then try again.`);
  return error.name === "NotFoundError" ? new Error(`No ${device} found. Connect one, then try again.`) : error;
}
