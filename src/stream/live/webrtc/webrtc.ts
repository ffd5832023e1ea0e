import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, messageOf, UserError } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import { type Viewer, viewerOf } from "../../access/index.ts";
import { httpError, sendErrorResponse } from "../../delivery/index.ts";
import { streamErrors } from "../../errors.ts";
import type { Publishing } from "../publish.ts";
import type { LiveSessions } from "../session.ts";
import type { Transcoder } from "./transcoder.ts";
import {
  allowedMethods,
  respondToOptions,
  SDP_FRAGMENT_TYPE,
  type WebrtcResource,
  readTextBody,
  SDP_TYPE,
  setCommonHeaders,
  requestMediaType,
} from "./exchange.ts";
import { createFeeds, type Feed } from "./feed.ts";
import { createNegotiation, type Negotiation } from "./negotiation.ts";
import { readOffer, withStartBitrate } from "./offers.ts";
import type { Peer, WebRtcPeers } from "./peers.ts";
import { createReauthorization } from "./reauthorize.ts";

export interface LiveWebrtcDeps {
  publishing: Publishing;
  sessions: LiveSessions;
  /**
   * Authorizes a viewer for the current broadcast; `id`: a uid or token from the path, `host`: the host of the request.
   * Resolves with the uid of the input.
   */
  access(id: string, viewer: Viewer, host: string | undefined): Promise<string>;
  /** For codecs that browsers do not support. If absent, viewers receive only the supported tracks. */
  transcoder?: Transcoder;
  settings: Pick<Settings["live"], "host" | "webrtc_addresses" | "webrtc_ports" | "connections">;
  /** Path before `/{id}`: "" or "/cdn-cgi/stream". */
  base?: string;
  /** Returns the client's IP address behind trusted proxies. */
  address(request: IncomingMessage): string;
  /** Scheme and host as seen by the viewer. */
  origin(request: IncomingMessage): string;
  /**
   * Called for each viewer once it is connected, not for an offer alone. Returns a function to call when the viewer
   * disconnects.
   */
  onViewer?: (input: string, viewer: { session: string; ip: string }) => () => void;
  log: Log;
  /** Milliseconds of any monotonic clock: silent peers time out. */
  now?: () => number;
  /** Milliseconds between authorization checks of a viewer. Default: 15 s. */
  reauthorizeMs?: number;
  /** Calls the listener when the access rules of an input may have changed; its viewers are then reauthorized. */
  onInputChange?(listener: () => void): () => void;
}

export interface LiveWebrtc {
  /**
   * Serves WHIP under `/{secret}/webRTC/publish` and WHEP under `/{input}/webRTC/play`. Resolves with false, without
   * sending a response, if the URL is neither of these. Accepts any method.
   */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Returns the number of connections, for metrics. */
  connections(): number;
  close(): Promise<void>;
}

const ADDRESS_PATTERN = /^\/([^/?]{1,8192})\/webRTC\/(publish|play)(?:\/([0-9a-f]{32}))?\/?(?:\?.*)?$/;
const VERSIONS = { publish: "draft-ietf-wish-whip-06", play: "draft-murillo-whep-01" };
/** Initial bitrate of a browser in kilobits per second. */
const START_BITRATE = 2000;

type Engine = typeof import("./engine.ts") & { peers: WebRtcPeers };

interface Session {
  kind: "publish" | "play";
  /** Hash of the path prefix, because a secret must not be stored in plain text. */
  owner: Buffer;
  peer: Peer;
  negotiation: Negotiation;
}

interface WebrtcExchange {
  id: string;
  kind: Session["kind"];
  session: string | undefined;
  request: IncomingMessage;
  response: ServerResponse;
}

export function createLiveWebrtc(deps: LiveWebrtcDeps): LiveWebrtc {
  const {
    publishing,
    sessions,
    access,
    transcoder,
    settings,
    base = "",
    address,
    origin,
    onViewer,
    log,
    now,
    reauthorizeMs,
    onInputChange,
  } = deps;
  const feeds = createFeeds({ sessions, ...(transcoder !== undefined && { transcoder }) });
  const reauthorization = createReauthorization({
    log,
    ...(reauthorizeMs !== undefined && { everyMs: reauthorizeMs }),
  });
  const stopListening = onInputChange?.(() => reauthorization.checkAll());
  const openSessions = new Map<string, Session>();
  let loading: Promise<Engine> | undefined;
  let peers: WebRtcPeers | undefined;

  const loadEngine = () =>
    (loading ??= import("./engine.ts").then((loaded) => {
      peers = loaded.createPeers({ settings, ...(now !== undefined && { now }) });
      return { ...loaded, peers };
    }));

  function registerSession({ id, kind }: WebrtcExchange, peer: Peer): { name: string; negotiation: Negotiation } {
    const name = randomBytes(16).toString("hex");
    const negotiation = createNegotiation(peer.connection, name);
    openSessions.set(name, { kind, owner: digest(id), peer, negotiation });
    peer.onClose(() => openSessions.delete(name));
    return { name, negotiation };
  }

  function created(
    { id, kind, response }: WebrtcExchange,
    sdp: string,
    { name, negotiation }: ReturnType<typeof registerSession>,
  ): void {
    response
      .writeHead(201, {
        "content-type": SDP_TYPE,
        "content-length": Buffer.byteLength(sdp),
        location: `${base}/${id}/webRTC/${kind}/${name}`,
        etag: negotiation.tag(),
        "accept-patch": SDP_FRAGMENT_TYPE,
      })
      .end(sdp);
  }

  const isNear = (request: IncomingMessage) => /^(127\.|::1$|::ffff:127\.)/.test(address(request));

  async function publish(exchange: WebrtcExchange, sdp: string): Promise<void> {
    const { id, request } = exchange;
    const parsedOffer = readOffer(sdp, { video: ["h264", "vp8"], keepRtx: true });
    if (!parsedOffer.ok) throw streamErrors.webrtcBadOffer({ reason: parsedOffer.reason });
    const { offer } = parsedOffer;
    const { peers, receivePublisher } = await loadEngine();
    const agent = request.headers["user-agent"];
    const publication = await publishing.publish({
      protocol: "webrtc",
      credential: id,
      address: address(request),
      ...(agent !== undefined && { agent }),
    });
    let peer: Peer | undefined;
    try {
      peer = peers.open(offer, { kind: "publish", isLocal: isNear(request) });
      const newSession = registerSession(exchange, peer);
      const answer = await newSession.negotiation.answer(offer.sdp, (connection) =>
        connection.getTransceivers().forEach((transceiver) => transceiver.setDirection("recvonly")),
      );
      receivePublisher({
        peer,
        offer,
        publication,
        onError: (err) => handleFailure(err, { input: publication.input }),
      });
      created(
        exchange,
        offer.video === undefined ? answer : withStartBitrate(answer, offer.video.payloadType, START_BITRATE),
        newSession,
      );
    } catch (err) {
      peer?.close();
      publication.end(false);
      throw err;
    }
  }

  async function play(exchange: WebrtcExchange, sdp: string): Promise<void> {
    const { id, request } = exchange;
    const viewer = viewerOf(request.headers, { ip: address(request), self: origin(request) });
    const check = () => access(id, viewer, request.headers.host);
    const input = await check();
    const feed = feeds.of(input);
    if (feed === undefined) throw streamErrors.liveNotPublished();
    const parsedOffer = sdp === "" ? undefined : readOffer(sdp, { video: [feed.codecs().video ?? "h264"] });
    if (parsedOffer?.ok === false) throw streamErrors.webrtcBadOffer({ reason: parsedOffer.reason });
    const { peers, makeSendOnly, addTracks, sendFeed } = await loadEngine();
    const peer = peers.open(parsedOffer?.offer ?? ownOfferOf(feed), { kind: "play", isLocal: isNear(request) });
    try {
      const newSession = registerSession(exchange, peer);
      if (parsedOffer === undefined) addTracks(peer.connection, feed.codecs());
      const description =
        parsedOffer === undefined
          ? await newSession.negotiation.offer()
          : await newSession.negotiation.answer(parsedOffer.offer.sdp, makeSendOnly);
      sendFeed({ peer, feed });
      whenConnected(peer, () => {
        const onGone = onViewer?.(input, { session: newSession.name, ip: viewer.ip });
        if (onGone !== undefined) peer.onClose(onGone);
      });
      peer.onClose(reauthorization.watch(check, () => peer.close()));
      created(exchange, description, newSession);
    } catch (err) {
      peer.close();
      throw err;
    }
  }

  async function handleChange({ id, kind, session: name = "", request, response }: WebrtcExchange): Promise<void> {
    const session = openSessions.get(name);
    if (session === undefined || session.kind !== kind || !timingSafeEqual(session.owner, digest(id)))
      throw streamErrors.webrtcSessionNotFound();
    if (request.method === "DELETE") {
      session.peer.close(true);
      response.writeHead(200, { "content-length": "0" }).end();
      return;
    }
    const type = requestMediaType(request);
    const body = await readTextBody(request);
    if (type === SDP_TYPE) {
      await session.negotiation.acceptAnswer(body);
      response.writeHead(204).end();
      return;
    }
    if (type !== SDP_FRAGMENT_TYPE)
      return sendErrorResponse(response, {
        status: 415,
        message: `A PATCH request must be ${SDP_FRAGMENT_TYPE}.`,
        page: false,
        head: false,
      });
    const match = request.headers["if-match"];
    if (match !== undefined && match !== "*" && match !== session.negotiation.tag())
      throw streamErrors.webrtcSessionChanged();
    const fragment = await session.negotiation.patch(body);
    if (fragment === undefined) response.writeHead(204).end();
    else
      response
        .writeHead(200, {
          "content-type": SDP_FRAGMENT_TYPE,
          "content-length": Buffer.byteLength(fragment),
          etag: session.negotiation.tag(),
        })
        .end(fragment);
  }

  async function answer(exchange: WebrtcExchange): Promise<void> {
    const { kind, session, request, response } = exchange;
    const place: WebrtcResource = session === undefined ? "endpoint" : "session";
    const { method = "" } = request;
    if (method === "OPTIONS") return respondToOptions(response, place);
    if (!allowedMethods(place).split(", ").includes(method)) {
      response.setHeader("allow", allowedMethods(place));
      return sendErrorResponse(response, {
        status: 405,
        message: `This URL accepts only ${kind === "publish" ? "WHIP" : "WHEP"} requests.`,
        page: false,
        head: method === "HEAD",
      });
    }
    if (session !== undefined) return handleChange(exchange);
    const sdp = await readTextBody(request);
    if (sdp !== "" && requestMediaType(request) !== SDP_TYPE)
      return sendErrorResponse(response, {
        status: 415,
        message: `An offer must be ${SDP_TYPE}.`,
        page: false,
        head: false,
      });
    return kind === "publish" ? publish(exchange, sdp) : play(exchange, sdp);
  }

  function handleFailure(err: unknown, logFields: object): void {
    if (!(err instanceof UserError)) log.error({ err, ...logFields }, "webrtc: session failed");
    else
      log.info(
        { reason: err.message, ...(err.cause !== undefined && { cause: messageOf(err.cause) }), ...logFields },
        "webrtc: session rejected",
      );
  }

  return {
    async handle(request, response) {
      if (!request.url!.startsWith(`${base}/`)) return false;
      const [, id, kind, session] = ADDRESS_PATTERN.exec(request.url!.slice(base.length)) ?? [];
      if (id === undefined) return false;
      const exchange: WebrtcExchange = { id, kind: kind as Session["kind"], session, request, response };
      setCommonHeaders(response, VERSIONS[exchange.kind]);
      try {
        await answer(exchange);
      } catch (err) {
        handleFailure(err, { kind });
        if (response.headersSent || response.destroyed) return true;
        sendErrorResponse(response, {
          page: false,
          head: false,
          ...(err instanceof UserError
            ? httpError(err)
            : { status: 500, message: "Internal error. See the server log." }),
        });
      }
      return true;
    },
    connections: () => peers?.count() ?? 0,
    async close() {
      stopListening?.();
      reauthorization.close();
      feeds.close();
      await peers?.close();
    },
  };
}

/** Calls the listener once, even after ICE restarts. */
function whenConnected({ connection }: Peer, listener: () => void): void {
  let isConnected = false;
  connection.connectionStateChange.subscribe((state) => {
    if (state !== "connected" || isConnected) return;
    isConnected = true;
    listener();
  });
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Returns the codecs of the server's offer, if a viewer requests one. */
const ownOfferOf = (feed: Feed) => {
  const { video, audio } = feed.codecs();
  return {
    ...(video !== undefined && { video: { codec: video, payloadType: 96 } }),
    ...(audio !== undefined && { audio: { codec: audio, payloadType: 111 } }),
  };
};
