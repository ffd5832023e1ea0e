import type { RTCPeerConnection } from "werift";
import { streamErrors } from "../../errors.ts";
import { fragmentOfAnswer, offerAfterRestart, readSdpFragment } from "./sdp-fragment.ts";

/** Offer/answer exchange of one connection, one step at a time. */
export interface Negotiation {
  /**
   * Resolves with the answer, including all local candidates. `change`: called before the answer is created. Rejects
   * with webrtcBadOffer, webrtcNoPort.
   */
  answer(offer: string, change?: (connection: RTCPeerConnection) => void | Promise<void>): Promise<string>;
  offer(): Promise<string>;
  /** Applies the answer of a client to an offer from the server. */
  acceptAnswer(answer: string): Promise<void>;
  /**
   * Resolves with the fragment for an ICE restart; undefined if the response has no body. Rejects with webrtcBadPatch.
   */
  patch(fragment: string): Promise<string | undefined>;
  /** Returns the entity tag of the current ICE session. */
  tag(): string;
}

export function createNegotiation(connection: RTCPeerConnection, id: string): Negotiation {
  let generation = 0;
  /** Latest SDP of the client, and whether it was an offer. */
  let remoteSdp = "";
  let isOfferer = false;
  let queueTail: Promise<unknown> = Promise.resolve();

  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = queueTail.then(work);
    queueTail = result.catch(() => {});
    return result;
  }

  async function agree(
    offer: string,
    change?: (connection: RTCPeerConnection) => void | Promise<void>,
  ): Promise<string> {
    try {
      await connection.setRemoteDescription({ type: "offer", sdp: offer });
      await change?.(connection);
      await connection.setLocalDescription(await connection.createAnswer());
    } catch (cause) {
      throw streamErrors.webrtcBadOffer({ reason: "it is inconsistent" }, { cause });
    }
    remoteSdp = offer;
    isOfferer = true;
    return describeLocal();
  }

  function describeLocal(): string {
    const { sdp } = connection.localDescription!;
    if (!sdp.includes("a=candidate:")) throw streamErrors.webrtcNoPort();
    return sdp;
  }

  /** True if the ICE credentials differ from the current ones. */
  const isOther = (ufrag: string | undefined) =>
    ufrag !== undefined && !remoteSdp.split(/\r?\n/).includes(`a=ice-ufrag:${ufrag}`);

  return {
    answer: (offer, change) => enqueue(() => agree(offer, change)),
    offer: () =>
      enqueue(async () => {
        await connection.setLocalDescription(await connection.createOffer());
        return describeLocal();
      }),
    acceptAnswer: (answer) =>
      enqueue(async () => {
        if (connection.signalingState !== "have-local-offer")
          throw streamErrors.webrtcBadPatch({ reason: "no answer is expected" });
        try {
          await connection.setRemoteDescription({ type: "answer", sdp: answer });
        } catch (cause) {
          throw streamErrors.webrtcBadPatch({ reason: "the answer does not match the offer" }, { cause });
        }
        remoteSdp = answer;
      }),
    patch: (text) =>
      enqueue(async () => {
        const fragment = readSdpFragment(text);
        if (fragment === undefined) throw streamErrors.webrtcBadPatch({ reason: "the body is not an SDP fragment" });
        const { ufrag, pwd } = fragment;
        // The client's candidates are not needed: it sends first, and its packets show its address.
        if (remoteSdp === "" || !isOther(ufrag)) return undefined;
        if (!isOfferer)
          throw streamErrors.webrtcBadPatch({
            reason: "only the client can restart ICE, with an offer; in this session the server made the offer",
          });
        if (ufrag === undefined || pwd === undefined || !/^[\w+/]{4,256}$/.test(ufrag) || !/^[\w+/]{22,256}$/.test(pwd))
          throw streamErrors.webrtcBadPatch({ reason: "it has no ICE credentials" });
        const answer = await agree(offerAfterRestart(remoteSdp, { ufrag, pwd, candidates: [] }));
        generation++;
        return fragmentOfAnswer(answer);
      }),
    tag: () => `"${id}-${generation}"`,
  };
}
