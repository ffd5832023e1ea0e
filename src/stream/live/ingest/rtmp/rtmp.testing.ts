import {
  createRtmpPeer,
  MESSAGE,
  readCommand,
  type RtmpCommand,
  type RtmpMessage,
  type RtmpPeer,
  writeCommand,
} from "../../../../protocol/rtmp/index.ts";
import { connect, type Socket } from "node:net";
import { streamErrors } from "../../../errors.ts";
import { writeBuffers } from "../../flv/write-pieces.ts";
import type { LiveInput, LiveInputDirectory } from "../../inputs/port.ts";
import type { Publishing } from "../../publish.ts";
import type { LiveSessions } from "../../session.ts";
import { defaultInput } from "../../inputs/inputs.testing.ts";
import { createFakeSessions, type Published, until } from "../fake-sessions.testing.ts";

export interface FakeIngest extends Publishing, LiveSessions {
  readonly inputs: LiveInputDirectory;
  /** Keyed by publishing and playback key. */
  add(publishKey: string, playbackKey: string): LiveInput;
  revoke(key: string): void;
  readonly published: Published[];
  /** Returns the number of octets queued for each player, of all inputs. */
  lags(): number[];
}

export function createFakeIngest(): FakeIngest {
  const keys = new Map<string, LiveInput>();
  const listeners = new Set<(uid: string) => void>();
  const fakeSessions = createFakeSessions();
  const inputs: LiveInputDirectory = {
    find: (uid) => Promise.resolve([...keys.values()].find((input) => input.uid === uid)),
    byPublishKey: (key) => Promise.resolve(keys.get(`publish ${key}`)),
    byPlaybackKey: (key) => Promise.resolve(keys.get(`play ${key}`)),
    bySrtStreamId: () => Promise.resolve(undefined),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };

  return {
    inputs,
    published: fakeSessions.published,
    lags: fakeSessions.lags,
    add(publishKey, playbackKey) {
      const input = defaultInput();
      keys.set(`publish ${publishKey}`, input).set(`play ${playbackKey}`, input);
      return input;
    },
    revoke(key) {
      for (const kind of ["publish", "play"]) {
        const input = keys.get(`${kind} ${key}`);
        keys.delete(`${kind} ${key}`);
        if (input !== undefined) for (const listener of listeners) listener(input.uid);
      }
    },
    of: (uid) => fakeSessions.sessions.get(uid),
    all: () => [...fakeSessions.sessions.values()],
    onSession: fakeSessions.onSession,
    async publish(claim) {
      const input = await inputs.byPublishKey(claim.credential);
      if (input === undefined) throw streamErrors.liveKeyUnknown();
      return fakeSessions.publish(input, claim);
    },
  };
}

/** A client scripted by the test, octet by octet if needed. */
export interface TestClient {
  socket: Socket;
  peer: RtmpPeer;
  commands: RtmpCommand[];
  messages: RtmpMessage[];
  readonly closed: boolean;
  command(name: string, ...args: Parameters<typeof writeCommand>[3][]): void;
  /** Completes the handshake, `connect` and `createStream`, and waits for the response. */
  open(): Promise<void>;
  /** Latest status, such as "NetStream.Publish.Start". */
  status(): { code: string; description: string } | undefined;
}

export function createTestClient(port: number, socket: Socket = connect({ port, host: "127.0.0.1" })): TestClient {
  const commands: RtmpCommand[] = [];
  const messages: RtmpMessage[] = [];
  let closed = false;
  let transaction = 1;
  const peer = createRtmpPeer({
    role: "client",
    maxMessageSize: 16 * 1024 * 1024,
    write: (pieces) => writeBuffers(socket, pieces),
  });
  socket.on("data", (bytes: Buffer) => {
    for (const message of peer.push(bytes)) {
      const command = readCommand(message);
      if (command === undefined) messages.push(message);
      else commands.push(command);
    }
  });
  socket.on("error", () => {}).on("close", () => (closed = true));

  const client: TestClient = {
    socket,
    peer,
    commands,
    messages,
    get closed() {
      return closed;
    },
    command: (name, ...args) =>
      peer.send(3, {
        type: MESSAGE.command,
        stream: 1,
        time: 0,
        data: writeCommand(name, transaction++, null, ...args),
      }),
    async open() {
      peer.startHandshake();
      await until("the server has responded to the handshake", () => peer.isHandshakeComplete);
      peer.send(3, {
        type: MESSAGE.command,
        stream: 0,
        time: 0,
        data: writeCommand("connect", transaction++, { app: "live", flashVer: "test" }),
      });
      client.command("createStream");
      await until("createStream gets a response", () => commands.length >= 2);
    },
    status() {
      const last = commands.findLast(({ name }) => name === "onStatus")?.args.at(-1) as
        | { code: string; description: string }
        | undefined;
      return last && { code: last.code, description: last.description };
    },
  };
  return client;
}
